"""Serve the gateway, as `querymill gateway` does."""

import argparse
import sys

from querymill.install_hints import install_hint
from querymill_shared.settings import Settings

try:
    from querymill.gateway.server import serve
except ModuleNotFoundError as error:
    if str(error.name).startswith("querymill"):
        raise
    sys.exit(f"the gateway is not installed ({error.name} is missing); {install_hint('gateway')}")


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(prog="python -m querymill.gateway", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    chosen = parser.parse_args()
    serve(Settings(), host=chosen.host, port=chosen.port)


if __name__ == "__main__":
    main()
