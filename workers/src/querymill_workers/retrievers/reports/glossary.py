"""The glossary: explanations of terms for the `synonym` branch."""

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any


def bundled() -> Mapping[str, str]:
    """Return the built-in explanation of each term. The Chinese name of a term is a term of its own."""
    source = resources.files("querymill_workers.retrievers.reports") / "glossary.json"
    return _read(json.loads(source.read_text(encoding="utf-8")))


def configured(setting: str) -> Mapping[str, str]:
    """Return the built-in glossary with the terms of a setting, which go before built-in ones of the same name.

    Args:
        setting: A JSON object, or the path of a file that holds one. It maps each term to its explanation, or to an
            object with ``explanation`` and ``zh``. Empty: the built-in glossary alone.

    Raises:
        ValueError: It is not such an object.
    """
    if not setting.strip():
        return bundled()
    try:
        text = setting if setting.lstrip().startswith("{") else Path(setting).read_text(encoding="utf-8")
        return {**bundled(), **_read(json.loads(text))}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"QUERYMILL_GLOSSARY: not a glossary: {error}") from error


def _read(written: Mapping[str, Any]) -> dict[str, str]:
    glossary: dict[str, str] = {}
    for term, entry in written.items():
        explained = entry if isinstance(entry, Mapping) else {"explanation": entry}
        explanation = explained["explanation"]
        if not term.strip() or not isinstance(explanation, str):
            raise ValueError(f"{term!r}: the explanation must be a text")
        glossary[term] = explanation
        if explained.get("zh"):
            glossary[explained["zh"]] = f"{term}: {explanation}"
    return glossary
