"""A request's fields from a file."""

import json
from pathlib import Path
from typing import Any

from querymill.cli.exits import WrongUse, why_unusable


def fields_in(path: Path, *, named: str) -> dict[str, Any]:
    """Read the one JSON object in a file; errors name the file as the command does (``named``)."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WrongUse(f"{named}: {why_unusable(error)}") from error
    except (ValueError, RecursionError) as error:
        raise WrongUse(f"{named}: {path}: {error}") from error
    if not isinstance(fields, dict):
        raise WrongUse(f"{named}: {path}: must hold one JSON object")
    return fields
