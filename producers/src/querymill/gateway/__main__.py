"""Serve the gateway on loopback; API keys, and with them other addresses, come with the whole gateway."""

import argparse

import uvicorn

from querymill.gateway.app import create_app
from querymill_shared.settings import Settings


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(prog="python -m querymill.gateway", description=__doc__)
    parser.add_argument("--port", type=int, default=8080)
    port = parser.parse_args().port
    uvicorn.run(create_app(Settings()), host="127.0.0.1", port=port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
