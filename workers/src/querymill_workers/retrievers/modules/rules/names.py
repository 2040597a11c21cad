"""Find the modules that a text names, and decide which modules of a document count as them.

A module's name is the last segment of its dotted path (``vtkActor`` in ``vtk.Rendering.Core.vtkActor``). All
comparisons ignore case. Word boundaries are ASCII look-arounds: in ``请用vtkActor渲染`` the name is ``vtkActor``.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal

from querymill_shared.values import value

Rule = Literal["path", "class", "shorthand", "words", "alias", "lexicon"]
Match = Literal["suffix", "exact"]

PREFIX: Final = "vtk"
_PATH: Final = re.compile(r"(?<![A-Za-z0-9_.])vtk(?:\.[A-Za-z0-9_]+)+", re.IGNORECASE | re.ASCII)
_CLASS: Final = re.compile(r"(?<![A-Za-z0-9_])vtk[A-Z][A-Za-z0-9]*", re.ASCII)
_TOKEN: Final = re.compile(r"[A-Za-z0-9_]+", re.ASCII)
_CAMEL: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+", re.ASCII)
_BETWEEN_WORDS: Final = re.compile(r"[ \t\n\r-]{1,3}", re.ASCII)
#: A camel-case name of up to this many words is also found as separate words.
_MAX_NAME_WORDS: Final = 8


@value
class FoundModule:
    """A module that a text asks for, with the rule that found it and the words of the text that it was found by."""

    name: str
    rule: Rule
    text: str
    start: int

    @property
    def key(self) -> str:
        """The form of the name that comparisons use."""
        return key_of(self.name)


@value
class Shorthand:
    """A way to refer to modules without their full names.

    ``joined`` is compared with the text; it is in lower case and has no blanks. ``ends`` holds the lengths at which
    one of its words ends, where the text may have a blank.
    """

    joined: str
    ends: frozenset[int]
    modules: tuple[str, ...]
    is_alias: bool


@value
class Shorthands:
    """All shorthands: ASCII ones by their joined form, and others (Chinese), which are searched for as substrings."""

    by_joined: Mapping[str, tuple[Shorthand, ...]]
    substrings: tuple[Shorthand, ...]


NO_SHORTHANDS: Final = Shorthands({}, ())


def last_segment(dotted: str) -> str:
    """Return a module's own name, without its dotted path."""
    return dotted.rpartition(".")[2]


def key_of(name: str) -> str:
    """Return the form of a name that comparisons use: the last segment, in lower case, without a leading ``vtk``."""
    return last_segment(name).lower().removeprefix(PREFIX)


def reversal(name: str) -> str:
    """Reverse a name, in lower case. A suffix of the name is then a prefix."""
    return last_segment(name).lower()[::-1]


def hits(module: str, name: str, *, match: Match) -> bool:
    """Return whether the name of a document's module counts as the module asked for.

    ``exact``: both are equal without a leading ``vtk``. ``suffix``: the name ends with the module without its leading
    ``vtk``, so ``vtkMapper`` also hits ``vtkImageMapper``. Both ignore case. An empty module hits nothing.
    """
    key = key_of(module)
    if not key:
        return False
    return key_of(name) == key if match == "exact" else last_segment(name).lower().endswith(key)


def find_mention(module: FoundModule, text: str) -> str | None:
    """Return how a text mentions a module by its own name, as a whole word, with or without ``vtk``; None if not."""
    # Most texts lack these letters altogether, and that is quicker to check than to search for a word.
    mentioned = module.key in text.lower() and _mention(module.key).search(text)
    return mentioned[0] if mentioned else None


@lru_cache(maxsize=4096)
def _mention(key: str) -> re.Pattern[str]:
    # Decided: a mention is a whole word, or `actor` would be found in every "factor".
    return re.compile(rf"(?<![A-Za-z0-9_])(?:vtk)?{re.escape(key)}(?![A-Za-z0-9_])", re.IGNORECASE | re.ASCII)


def camel_words(name: str) -> list[str]:
    """Split a camel-case name into lower-case words: ``STLReader`` gives ``stl``, ``reader``."""
    return [word.lower() for word in _CAMEL.findall(name)]


def shorthands_of(configured: Mapping[str, Sequence[str]], names: Iterable[str]) -> Shorthands:
    """Return the configured shorthands and those of a collection: its module names without ``vtk``.

    A configured entry with modules is an alias for them. An entry without modules stands for itself.
    """
    aliases = tuple((alias, tuple(modules)) for alias, modules in configured.items())
    return _gather(aliases, tuple(names))


@lru_cache(maxsize=64)  # the names of a collection change seldom, and every query asks
def _gather(configured: tuple[tuple[str, tuple[str, ...]], ...], names: tuple[str, ...]) -> Shorthands:
    found = [_shorthand(said, modules or (said,), is_alias=bool(modules)) for said, modules in configured]
    bare = dict.fromkeys(_without_prefix(last_segment(name)) for name in names)
    found += [_shorthand(name, (name,), is_alias=False) for name in bare]
    by_joined: dict[str, list[Shorthand]] = {}
    for shorthand in found:
        if shorthand.joined.isascii() and shorthand.joined not in ("", PREFIX):
            by_joined.setdefault(shorthand.joined, []).append(shorthand)
    substrings = tuple(shorthand for shorthand in found if not shorthand.joined.isascii())
    return Shorthands({joined: tuple(several) for joined, several in by_joined.items()}, substrings)


def analyze_query(text: str, *, shorthands: Shorthands = NO_SHORTHANDS) -> tuple[FoundModule, ...]:
    """Return the modules that a text names, in the order of their first appearance.

    A module is named by a full path (its last segment), by a class name (``vtk`` and a capital letter), or by a
    shorthand as a whole word. A shorthand is also found as its camel-case words ("cone source" → ``ConeSource``).
    Names that differ only in case or in ``vtk`` are the same module. The bare word ``vtk`` is never a module.
    Decided: a path ends at its first class name (``vtk.Rendering.Core.vtkActor.newInstance`` is ``vtkActor``), and
    ``vtk.js`` is the library, not a path.
    """
    paths = list(_paths(text))
    covered = [(start, start + len(said)) for _, said, start in paths]
    classes = [match for match in _CLASS.finditer(text) if not _inside(match.start(), covered)]
    covered += [match.span() for match in classes]
    found = [FoundModule(name, "path", said, start) for name, said, start in paths]
    found += [FoundModule(match[0], "class", match[0], match.start()) for match in classes]
    found += [module for module in _find_shorthands(text, shorthands) if not _inside(module.start, covered)]
    return distinct_modules(found)


def unknown_modules(found: Iterable[FoundModule], names: Iterable[str], *, match: Match) -> list[FoundModule]:
    """Return the modules that are named by a path or a class name, but that no document has under any name."""
    known = {last_segment(name).lower() for name in names}
    known |= {name.removeprefix(PREFIX) for name in known}
    named = [module for module in found if module.rule in ("path", "class")]
    return [
        module
        for module in named
        if module.key not in known and (match == "exact" or not any(name.endswith(module.key) for name in known))
    ]


def distinct_modules(found: Iterable[FoundModule]) -> tuple[FoundModule, ...]:
    """Keep each module once, first appearance first; where two begin together, the longer text first."""
    kept: dict[str, FoundModule] = {}
    for module in sorted(found, key=lambda module: (module.start, -len(module.text))):
        if module.key:
            kept.setdefault(module.key, module)
    return tuple(kept.values())


def _paths(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield module, path as written, and where it starts."""
    for match in _PATH.finditer(text):
        segments = match[0].split(".")
        whole = next((n for n, segment in enumerate(segments) if _CLASS.fullmatch(segment)), len(segments) - 1)
        if whole > 1 or segments[1].lower() != "js":
            yield segments[whole], ".".join(segments[: whole + 1]), match.start()


def _find_shorthands(text: str, shorthands: Shorthands) -> Iterator[FoundModule]:
    tokens = list(_TOKEN.finditer(text))
    for first in range(len(tokens)):
        yield from _find_from(text, tokens, first, shorthands)
    for shorthand in shorthands.substrings:
        start = text.lower().find(shorthand.joined)
        if start >= 0:
            said = text[start : start + len(shorthand.joined)]
            yield from (FoundModule(module, "alias", said, start) for module in shorthand.modules)


def _find_from(text: str, tokens: Sequence[re.Match[str]], first: int, shorthands: Shorthands) -> Iterator[FoundModule]:
    """Yield the modules that the tokens from ``first`` on name: by one word, or by the words of a split name."""
    joined, ends = "", set[int]()
    for position in range(first, min(first + _MAX_NAME_WORDS, len(tokens))):
        token = tokens[position]
        if position > first and not _BETWEEN_WORDS.fullmatch(text, tokens[position - 1].end(), token.start()):
            return
        for part in filter(None, token[0].lower().split("_")):
            joined += part
            ends.add(len(joined))
        start, said = tokens[first].start(), text[tokens[first].start() : token.end()]
        for shorthand in shorthands.by_joined.get(joined, ()):
            if ends <= shorthand.ends:
                rule: Rule = "alias" if shorthand.is_alias else "shorthand" if len(ends) == 1 else "words"
                yield from (FoundModule(module, rule, said, start) for module in shorthand.modules)


def _shorthand(said: str, modules: tuple[str, ...], *, is_alias: bool) -> Shorthand:
    if not said.isascii():
        return Shorthand(said.lower(), frozenset(), modules, is_alias)
    joined, ends = "", set[int]()
    for word in camel_words(said):
        joined += word
        ends.add(len(joined))
    return Shorthand(joined, frozenset(ends), modules, is_alias)


def _without_prefix(name: str) -> str:
    return name[len(PREFIX) :] if name.lower().startswith(PREFIX) else name


def _inside(start: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(begin <= start < end for begin, end in spans)
