"""Files of JSON lines: what tells them from documents, and how compressed ones are read."""

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from querymill.ingesting.jsonl import STDIN
from querymill.ingesting.path_options import UnusablePath
from querymill_histories.compressed import BROKEN, is_compressed, open_plain, plain_name
from querymill_reading.formats import BY_SUFFIX
from querymill_reading.rules.beginnings import LOOKED_AT

#: The endings of files of JSON lines. One document in JSON has the last of them, too.
LINES_SUFFIXES: Final = (".jsonl", ".ndjson", ".json")
#: What a report has as we write it, in one line or in several; and how much of a file is looked at for it.
_OUR_PAGES: Final = re.compile(rb'"pages"\s*:\s*\[\s*(?:\]|\{[^{}]*"(?:page|text)"\s*:)')
_HEAD: Final = 1 << 16


@contextmanager
def plain_file(path: Path) -> Iterator[Path]:
    """Give a file that is not compressed, in place of one that is.

    Raises:
        UnusablePath: It cannot be read.
    """
    if path.is_dir() or not is_compressed(path):
        yield path
        return
    with tempfile.NamedTemporaryFile(suffix=plain_name(path).suffix) as plain:
        try:
            with open_plain(path) as stream:
                shutil.copyfileobj(stream, plain)
        except (OSError, *BROKEN) as error:
            raise UnusablePath(f"path: {path}: {error}") from error
        plain.flush()
        yield Path(plain.name)


def are_lines(path: str) -> bool:
    """Return whether there are JSON lines at a path, and no document: by the name, else by the first character.

    A file of the ending .json has lines if it is written as we write reports, or if it begins with more than one line
    of its own. Any other is one document.
    """
    if path == str(STDIN):
        peek = getattr(sys.stdin.buffer, "peek", None)
        return peek is None or peek(LOOKED_AT)[:LOOKED_AT].lstrip()[:1] in (b"{", b"")
    if plain_name(Path(path)).suffix.lower() in LINES_SUFFIXES:
        return not (Path(path).suffix.lower() == LINES_SUFFIXES[-1] and _is_one_document(Path(path)))
    if Path(path).suffix.lower() in BY_SUFFIX or not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return file.read(LOOKED_AT).lstrip()[:1] == b"{"


def _is_one_document(path: Path) -> bool:
    """Return whether a file of JSON is one document of somebody else's."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if _OUR_PAGES.search(head):
        return False
    lines = [line for line in head.splitlines() if line.strip()]
    return len(lines) < 2 or not (_is_object(lines[0]) and lines[1].lstrip().startswith(b"{"))


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
