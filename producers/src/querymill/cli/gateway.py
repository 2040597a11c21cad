"""``querymill gateway``: serve HTTP."""

import sys
from typing import Annotated

import typer

from querymill.cli.exits import WrongUse
from querymill.cli.terminal import echo
from querymill.install_hints import install_hint
from querymill_shared.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(gateway)


def gateway(
    host: Annotated[str, typer.Option(help="the address to listen on; without API keys loopback only")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="the port to listen on; 0 takes a free one")] = 8080,
) -> None:
    """Serve the HTTP gateway until stopped. The console is at /console, OpenAPI at /openapi.json, its page at /docs."""
    try:
        from querymill.gateway.server import UnguardedHost, serve
    except ImportError as error:
        raise WrongUse(f"the gateway is not installed; {install_hint('gateway')}") from error
    try:
        serve(Settings(), host=host, port=port, tell=_tell)
    except UnguardedHost as error:
        raise WrongUse(str(error)) from error


def _tell(host: str, port: int) -> None:
    """Say where it listens. Standard error is for the audit."""
    at = f"[{host}]" if ":" in host else host
    echo(f"Gateway: http://{at}:{port} · console at /console · Ctrl-C stops it")
    sys.stdout.flush()
