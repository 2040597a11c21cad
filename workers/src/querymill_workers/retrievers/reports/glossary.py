"""The glossary that the synonym method explains terms from."""

import json
from collections.abc import Mapping
from importlib import resources


def bundled() -> Mapping[str, str]:
    """Read the bundled glossary: term to explanation, a term's Chinese name as a term of its own."""
    text = (resources.files("querymill_workers.retrievers.reports") / "glossary.json").read_text(encoding="utf-8")
    glossary: dict[str, str] = {}
    for term, entry in json.loads(text).items():
        glossary[term] = entry["explanation"]
        if entry.get("zh"):
            glossary[entry["zh"]] = f"{term}: {entry['explanation']}"
    return glossary
