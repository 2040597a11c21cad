"""What a tool says when it cannot do what is asked: a sentence that a model can act on."""

import math
from collections.abc import Sequence

from pydantic import ValidationError

from querymill.agents.stored_text import clean_line
from querymill_shared.contracts.errors import (
    JobEnded,
    Overloaded,
    QuerymillError,
    Unavailable,
    UnknownCollection,
    first_errors,
    rule_text,
)

#: Names that a sentence lists at most, and characters of what a caller wrote that it repeats.
MAX_NAMES, MAX_QUOTED = 20, 80


class Fault(Exception):
    """Raised to say what is wrong, and what would be right."""


def listed(names: Sequence[str]) -> str:
    """Join names, but not too many of them."""
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


def quoted(written: str) -> str:
    """Return what a caller wrote, short and on one line."""
    return f"'{clean_line(written)[:MAX_QUOTED]}'"


def of_rules(error: ValidationError, *, below: str = "") -> str:
    """Return the fields that break rules, and the rules. The fields of a document begin ``below`` a place."""
    return "; ".join(_rule(entry["loc"], rule_text(entry), below) for entry in first_errors(error, 5))


def _rule(location: Sequence[int | str], rule: str, below: str) -> str:
    place = ".".join(map(str, location)).removeprefix(below).removeprefix(".")
    return f"{place}: {rule}" if place and not rule.startswith(f"{place}:") else rule


def sentence_of(error: Exception) -> str | None:
    """Return what to say of an error, or None if it is a defect."""
    match error:
        case ValidationError():
            return of_rules(error)
        case UnknownCollection():
            return f"{error}; list(of='collections') names what there is"
        case Overloaded():
            return f"Too much work waits. Try again in {math.ceil(error.retry_after_s)} s."
        case JobEnded():
            return f"The job {error.reason} (job {error.job_id})."
        case TimeoutError():
            return "There was no result in time; ask for less, or try again."
        case Unavailable():
            return "The job board cannot be reached just now; try again in a moment."
        case _:
            return str(error) if isinstance(error, Fault | QuerymillError | ValueError) else None
