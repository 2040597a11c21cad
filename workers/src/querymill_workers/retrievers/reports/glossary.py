"""The bundled glossary: explanations of terms for the `synonym` branch."""

import json
from collections.abc import Mapping
from importlib import resources


def bundled() -> Mapping[str, str]:
    """Return the explanation of each term. The Chinese name of a term is a term of its own."""
    text = (resources.files("querymill_workers.retrievers.reports") / "glossary.json").read_text(encoding="utf-8")
    glossary: dict[str, str] = {}
    for term, entry in json.loads(text).items():
        glossary[term] = entry["explanation"]
        if entry.get("zh"):
            glossary[entry["zh"]] = f"{term}: {entry['explanation']}"
    return glossary
