"""Jupyter notebooks as source: their cells one after the other, each under a line with its number, without outputs.

    # notebook: python
    # %% cell 1 [markdown]
    # # Prices
    # %% cell 2
    prices = read("prices.csv")

This is the percent format of editors, so a parser of the notebook's language reads it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

SUFFIX: Final = ".ipynb"
#: Notebooks larger than this, in bytes, are skipped. Most of a large one are pictures in its outputs.
MAX_NOTEBOOK_BYTES: Final = 50_000_000

_LANGUAGES: Final = {
    "c++": "cpp", "c#": "csharp", "f#": "fsharp", "bash": "shell", "python3": "python", "ir": "r", "node": "javascript",
}  # fmt: skip
_SLASHES: Final = frozenset({
    "c", "cpp", "csharp", "fsharp", "java", "javascript", "typescript", "kotlin", "scala", "groovy", "go", "rust",
    "swift", "php", "dart",
})  # fmt: skip
#: Magics of IPython whose cell is Python all the same.
_STILL_PYTHON: Final = re.compile(r"%%(?:time|timeit|capture|prun|memit)(?![A-Za-z])")
_MAGIC: Final = re.compile(r"\s*[%!?]")


class NotANotebook(ValueError):
    """The text is not a notebook."""


def source_of(text: str) -> str:
    """Return the source of a notebook: its code and text cells, numbered from 1 in their order.

    Text is commented out, and so are magics and shell commands, which no parser of the language reads.

    Raises:
        NotANotebook: The text is not JSON, or has no cells.
    """
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotANotebook(f"not a notebook: {error}") from error
    cells = _cells(notebook)
    language = _language(notebook)
    mark = "//" if language in _SLASHES else "--" if language in ("sql", "lua", "haskell") else "#"
    lines = [f"{mark} notebook: {language}"]
    for number, cell in enumerate(cells, start=1):
        kind = cell.get("cell_type")
        lines.append(f"{mark} %% cell {number}" + ("" if kind == "code" else f" [{kind}]"))
        lines += _code(_written(cell), language) if kind == "code" else _commented(_written(cell), mark)
    return "\n".join(lines) + "\n"


def by_cells(document: Any) -> Any:
    """Return a file of JSON lines with the cells of a notebook as its content; what is no notebook stays as it is.

    A file that was exported holds cells already.
    """
    path, content = (document.get("path"), document.get("content")) if isinstance(document, dict) else (None, None)
    if not (isinstance(path, str) and path.endswith(SUFFIX) and isinstance(content, str)):
        return document
    if len(content) <= MAX_NOTEBOOK_BYTES:
        with suppress(NotANotebook):
            return {**document, "content": source_of(content)}
    return document


def _cells(notebook: Any) -> list[Mapping[str, Any]]:
    """Return the cells; those of format 3 are in worksheets."""
    if not isinstance(notebook, dict):
        raise NotANotebook("not a notebook: no JSON object")
    sheets = notebook.get("worksheets") or [notebook]
    lists = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)] if isinstance(sheets, list) else []
    if not lists or not all(isinstance(cells, list) for cells in lists):
        raise NotANotebook("not a notebook: it has no cells")
    return [cell for cells in lists for cell in cells or () if isinstance(cell, dict)]


def _language(notebook: Mapping[str, Any]) -> str:
    metadata = notebook.get("metadata")
    about = metadata if isinstance(metadata, dict) else {}
    for field, key in (("language_info", "name"), ("kernelspec", "language")):
        named = about.get(field)
        name = str(named.get(key) or "").lower() if isinstance(named, dict) else ""
        if re.fullmatch("[a-z+#0-9]+", name):
            return _LANGUAGES.get(name, name)
    return "python"


def _written(cell: Mapping[str, Any]) -> list[str]:
    source = cell.get("source", cell.get("input", ""))
    text = "".join(part for part in source if isinstance(part, str)) if isinstance(source, list) else source
    return text.splitlines() if isinstance(text, str) else []


def _commented(lines: list[str], mark: str) -> Iterator[str]:
    return (f"{mark} {line}".rstrip() for line in lines)


def _code(lines: list[str], language: str) -> Iterator[str]:
    if language != "python":
        return iter(lines)
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%") and _STILL_PYTHON.match(first) is None:
        return _commented(lines, "#")
    return (f"# {line}" if _MAGIC.match(line) else line for line in lines)
