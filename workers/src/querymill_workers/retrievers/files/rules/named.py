"""What a request names: paths with or without a line, and names in quotes or written as only names are."""

import re
from collections.abc import Sequence
from typing import Final

from querymill_shared.values import value

#: A file that the request names by its path is at least this relevant, one that defines a name of it at least that.
BY_PATH, BY_NAME = 0.99, 0.9
#: A name that more files define says little about each; a plain word that is called, if more than one does.
MAX_DEFINERS: Final = 3
MAX_DEFINERS_OF_WORD: Final = 1
#: Paths and names looked up at most.
MAX_NAMED: Final = 20

_PATH: Final = re.compile(
    r"(?<![A-Za-z0-9_.@+/\\-])(?:[A-Za-z]:)?[\\/]?((?:[A-Za-z0-9_.@+-]+[\\/])*[A-Za-z0-9_@+-][A-Za-z0-9_.@+-]*\.[A-Za-z][A-Za-z0-9]{0,4})"
    r"(?![A-Za-z0-9_/\\])(?:\"?,? +line +(\d{1,7})|:(\d{1,7}))?"
)
_QUOTED: Final = re.compile(
    r"[`'\"“‘](?:[A-Za-z_$][A-Za-z0-9_$]*\.)*([A-Za-z_$][A-Za-z0-9_$]{2,99})(?:\(\))?[`'\"”’]"
    r"|(?<![A-Za-z0-9_$])([A-Za-z_$][A-Za-z0-9_$]{2,99})\(\)"
)
# No part may match the same letters in two ways: a text that almost fits would be tried in all combinations.
# Without quotes: snake_case, camelCase, several capitals, or the last part of a dotted name.
_WRITTEN: Final = re.compile(
    r"(?<![A-Za-z0-9_$/\\-])(_*[a-z0-9]+(?:_+[A-Za-z0-9]+)+|_[A-Za-z0-9_]*[A-Za-z0-9]|[a-z]+(?:[A-Z][a-z0-9]*)+"
    r"|[A-Z]+[a-z0-9]+[A-Z][A-Za-z0-9]*|(?<=[a-z]\.)[A-Za-z_$][A-Za-z0-9_$]*)(?![A-Za-z0-9_$/\\])"
)


@value
class NamedPath:
    """A path of the request, with slashes, and the line that it names, or None."""

    path: str
    line: int | None


def paths_in(query: str) -> list[NamedPath]:
    """List the paths that a request names: ``worker/loops.py line 40``, ``File "/a/b.py", line 3``, ``b.py:3``.

    A word with a dot is a path only if it ends like a file: ``app.task.Task`` is none, ``task.py`` is one. The caller
    looks up which of them exist.
    """
    found: dict[NamedPath, None] = {}
    for match in _PATH.finditer(query):
        line = match[2] or match[3]
        found[NamedPath(match[1].replace("\\", "/").removeprefix("./"), int(line) if line else None)] = None
    return list(found)[:MAX_NAMED]


def quoted_in(query: str) -> list[str]:
    """List the identifiers that a request quotes or calls, in order: ``'_limit_task'``, ``app.on_timeout()``.

    Of a dotted name the last part counts.
    """
    return list(dict.fromkeys(match[1] or match[2] for match in _QUOTED.finditer(query)))[:MAX_NAMED]


def names_in(query: str) -> list[str]:
    """List the identifiers of a request: those that it quotes, then those that look like code: ``retryPolicy``.

    Plain words without quotes are no names.
    """
    written = [match[1] for match in _WRITTEN.finditer(query)]
    return [name for name in dict.fromkeys([*quoted_in(query), *written]) if len(name) > 2][:MAX_NAMED]


def max_definers(name: str, query: str) -> int:
    """Return how many files may define a name that a request quotes or calls, for the request to mean them.

    ``hub.reset()`` is a method of some object, and many classes have a ``reset``: 1. ``maybe_declare()`` and a word in
    quotes are names: 3.
    """
    is_method = name.isalpha() and name.islower() and f"{name}()" in query
    return MAX_DEFINERS_OF_WORD if is_method else MAX_DEFINERS


def ends_with(path: str, named: str) -> bool:
    """Return whether a named path means a file: it is the file's path, or one of them ends with the other.

    A traceback names ``/usr/lib/python3/site-packages/celery/app/base.py`` where the collection has ``app/base.py``;
    a person writes ``base.py``. Of the longer path a whole folder must match: ``base.py`` is not ``database.py``.
    """
    longer, shorter = (path, named) if len(path) >= len(named) else (named, path)
    return longer == shorter or longer.endswith("/" + shorter)


def meant(named: str, found: Sequence[str]) -> list[str]:
    """Choose the files that a named path means: those with the longest part in common, and only these.

    Of ``app/base.py`` and ``base.py``, ``celery/app/base.py`` means the first.
    """
    held = [path for path in found if ends_with(path, named)]
    best = max((min(len(path), len(named)) for path in held), default=0)
    return sorted(path for path in held if min(len(path), len(named)) == best)
