"""Where a stack is, and the settings that lead to it, as a shell takes them."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path

from querymill.cli.terminal import Console, echo


def say_exports(
    data: Path, gateway: str | None, environment: Mapping[str, str], say: Console, *, as_json: bool
) -> None:
    """Print the address of the gateway, and the exports that point commands at the stack."""
    if as_json:
        echo(json.dumps({"data": str(data), "gateway": gateway, "environment": environment}))
        return
    say.print(f"Gateway: {gateway} · console at /console · OpenAPI at /docs · figures at /metrics")
    say.print("Running. These exports point querymill at it:", style="bold")
    for name, value in environment.items():
        echo(f"export {name}={shlex.quote(value)}")
