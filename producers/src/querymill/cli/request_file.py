"""A request's fields from a file, and the turns of a chat."""

import json
from pathlib import Path
from typing import Any, Final

from querymill.cli.exits import WrongUse, why_unusable

#: How the turns before a question are given on the command line.
HISTORY_HELP: Final = 'a JSON file with the earlier turns of the chat: [{"role": "user" or "assistant", "text"}]'


def fields_in(path: Path, *, named: str) -> dict[str, Any]:
    """Read the one JSON object in a file; errors name the file as the command does (``named``)."""
    fields = _read(path, named)
    if not isinstance(fields, dict):
        raise WrongUse(f"{named}: {path}: must hold one JSON object")
    return fields


def turns_in(path: Path) -> list[Any]:
    """Read the turns of a chat from a file, the oldest first. Their rules are those of the contract."""
    turns = _read(path, "--history")
    if not isinstance(turns, list):
        raise WrongUse(f"--history: {path}: must hold a JSON list of turns")
    return turns


def _read(path: Path, named: str) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WrongUse(f"{named}: {why_unusable(error)}") from error
    except (ValueError, RecursionError) as error:
        raise WrongUse(f"{named}: {path}: {error}") from error
