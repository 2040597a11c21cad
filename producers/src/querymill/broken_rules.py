"""Which rules a document breaks, in the words of its caller."""

import json

import pydantic

from querymill_shared.contracts.errors import first_errors, rule_text


class PassedOver(ValueError):
    """Raised for a document that is good, and left out by rule; ``document`` is its id."""

    def __init__(self, document: str, reason: str) -> None:
        super().__init__(f"{document}: {reason}")
        self.document = document
        self.reason = reason


def rules_broken(error: ValueError | RecursionError, *, below: str = "") -> list[tuple[str, str]]:
    """Return the rules that a line breaks, each with its field, "" for the line. Fields are named from ``below`` on."""
    match error:
        case PassedOver():
            return [("", str(error))]
        case UnicodeDecodeError():
            return [("", "not UTF-8")]
        case json.JSONDecodeError():
            return [("", f"not JSON: {error.msg} at column {error.colno}")]
        case pydantic.ValidationError():
            broken = [(".".join(map(str, entry["loc"])), rule_text(entry)) for entry in first_errors(error, 3)]
            return [(place.removeprefix(below).removeprefix("."), rule) for place, rule in broken]
        case _:
            return [("", "not JSON: a number too long, or nested too deeply")]


def rule_broken(error: ValueError | RecursionError, *, below: str = "") -> str:
    """Say which rules a line breaks, field by field; see `rules_broken`."""
    whole = "line" if isinstance(error, pydantic.ValidationError) else ""
    return "; ".join(f"{place or whole}: {rule}".removeprefix(": ") for place, rule in rules_broken(error, below=below))
