"""The glossary of reports: the built-in terms, and those of a setting."""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from querymill_workers.retrievers.reports.rules.glossary import Glossary, Term


@cache
def bundled() -> Glossary:
    """Return the built-in glossary. The Chinese name of a term, and its other spellings, are names of their own."""
    source = resources.files("querymill_workers.retrievers.reports") / "glossary.json"
    return Glossary(_read(json.loads(source.read_text(encoding="utf-8"))))


def configured(setting: str) -> Glossary:
    """Return the built-in glossary with the terms of a setting, which go before built-in ones of the same name.

    Args:
        setting: A JSON object, or the path of a file that holds one. It maps each term to its explanation, or to an
            object with ``explanation`` and, as far as there are any, ``zh``, ``also`` (a list of other spellings), and
            ``stated_as`` (the words by which reports state it). Empty: the built-in glossary alone.

    Raises:
        ValueError: It is not such an object.
    """
    if not setting.strip():
        return bundled()
    try:
        text = setting if setting.lstrip().startswith("{") else Path(setting).read_text(encoding="utf-8")
        return Glossary({**bundled().terms, **_read(json.loads(text))})
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"QUERYMILL_GLOSSARY: not a glossary: {error}") from error


def _read(written: Mapping[str, Any]) -> dict[str, Term]:
    terms: dict[str, Term] = {}
    for name, entry in written.items():
        given = entry if isinstance(entry, Mapping) else {"explanation": entry}
        also = given.get("also", [])
        if isinstance(also, str):
            raise TypeError(f"{name!r}: 'also' must be a list")
        term = Term(_text(name, given["explanation"]), _text(name, given.get("stated_as", "")))
        terms |= {_text(name, spelling): term for spelling in (name, *also)}
        if zh := _text(name, given.get("zh", "")):
            terms[zh] = Term(f"{name}: {term.explanation}", term.stated_as)
    if "" in (spelling.strip() for spelling in terms):
        raise ValueError("a term without a name")
    return terms


def _text(name: str, given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError(f"{name!r}: {given!r} is not a text")
    return given
