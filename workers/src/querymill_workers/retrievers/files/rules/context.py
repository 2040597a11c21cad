"""The context for a sub-agent: the definitions most relevant to the request, then a map of the other files."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from querymill_shared.values import value
from querymill_workers.retrievers.files.rules.code import lines_of
from querymill_workers.retrievers.files.rules.intent import Lines
from querymill_workers.retrievers.files.rules.worth import ContextPart

#: The share of the budget that is kept for the map of signatures.
MAP_SHARE: Final = 0.12
#: Definitions worth less than this share of the best one are left out, however much budget is left.
LEAST_WORTH: Final = 0.25
#: The line above the map, and how much of a line it shows.
MAP_TITLE: Final = "Also defined in the files found:"
MAX_SIGNATURE_CHARS: Final = 120
#: Parts of a file with at most so many lines between them are shown as one.
NEAR: Final = 3
_BACKTICKS: Final = re.compile("`{3,}")
_HEAD: Final = re.compile(r"(?P<path>.+?):[0-9]+-[0-9]+(?: [^\n]*)?\n")
_PART: Final = re.compile(r"^.+?:[0-9]+-[0-9]+(?: [^\n]*)?\n(?P<fence>`{3,})\n(?s:.*?)\n(?P=fence)\n", re.MULTILINE)


@value
class Signature:
    """The line of a definition as the map shows it. ``used_by`` counts the retrieved files that use its name."""

    path: str
    line: int
    name: str
    used_by: int


@value
class Context:
    """The joined text, and the path and lines of each part in it."""

    text: str
    parts: Sequence[tuple[str, Lines]]


def joined(
    parts: Sequence[ContextPart],
    contents: Mapping[str, str],
    signatures: Sequence[Signature],
    *,
    budget: int,
    count_tokens: Callable[[str], int],
) -> Context:
    """Join the definitions of most worth until the budget is used up, then a map of signatures.

    Nothing is cut: a definition that does not fit is left out for smaller ones. A file stands where its best
    definition does, and its parts stand in the order of their lines.
    """
    left = budget - int(budget * MAP_SHARE)
    ranking = sorted(parts, key=lambda part: (-part.worth, part.path, part.lines))
    least = LEAST_WORTH * ranking[0].worth if ranking else 0.0
    chosen: dict[str, list[ContextPart]] = {}
    for part in ranking:
        if part.path not in contents or part.worth < least:
            continue
        cost = sum(count_tokens(shown(part.path, lines, contents[part.path], part.label)) for lines in part.lines)
        if cost <= left:
            chosen.setdefault(part.path, []).append(part)
            left -= cost
    texts: list[str] = []
    placed: list[tuple[str, Lines]] = []
    for path, own in chosen.items():
        for lines, label in merged(own):
            texts.append(shown(path, lines, contents[path], label))
            placed.append((path, lines))
    text = "\n".join(texts)
    return Context(text + repo_map(signatures, contents, placed, left + int(budget * MAP_SHARE), count_tokens), placed)


def interleaved(
    contexts: Sequence[str], *, budget: int, count_tokens: Callable[[str], int]
) -> tuple[str, tuple[str, ...]]:
    """Join contexts of one code base: the best part of each, then the second of each, within a budget of tokens.

    A part that another context has is shown once. Maps of signatures are left out. Return the text and the paths in it.
    """
    left, texts, paths = budget, dict[str, None](), dict[str, None]()
    for row in zip_longest(*map(parts_in, contexts)):
        for part in filter(None, row):
            cost = count_tokens(part)
            if part not in texts and cost <= left:
                texts[part] = None
                paths[_HEAD.match(part)["path"]] = None  # type: ignore[index]  # it is what it was found by
                left -= cost
    return "\n".join(texts), tuple(paths)


def parts_in(context: str) -> list[str]:
    """Return the parts of a context, as `shown` writes them."""
    return [found[0] for found in _PART.finditer(context)]


def merged(parts: Sequence[ContextPart]) -> list[tuple[Lines, str]]:
    """Return the lines of a file's parts in order; those that touch or nearly do are one, under all their names."""
    found: list[tuple[Lines, list[str]]] = []
    for lines, label in sorted((lines, part.label) for part in parts for lines in part.lines):
        if found and lines[0] <= found[-1][0][1] + NEAR:
            (first, last), labels = found[-1]
            found[-1] = ((first, max(last, lines[1])), [*labels, label])
        else:
            found.append((lines, [label]))
    return [(lines, ", ".join(dict.fromkeys(filter(None, labels)))) for lines, labels in found]


def shown(path: str, lines: Lines, content: str, label: str = "") -> str:
    """Show lines of a file under its path, between fences that do not occur in them."""
    text = "\n".join(lines_of(content)[lines[0] - 1 : lines[1]])
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(text)), default=2))
    return f"{path}:{lines[0]}-{lines[1]} {label}".rstrip() + f"\n{fence}\n{text}\n{fence}\n"


def repo_map(
    signatures: Sequence[Signature],
    contents: Mapping[str, str],
    placed: Sequence[tuple[str, Lines]],
    budget: int,
    count_tokens: Callable[[str], int],
) -> str:
    """List signatures that are not shown yet, by file; those that most retrieved files use come first."""
    seen = [
        signature
        for signature in signatures
        if signature.path in contents
        and not any(path == signature.path and a <= signature.line <= b for path, (a, b) in placed)
    ]
    kept: list[Signature] = []
    left = budget - count_tokens(MAP_TITLE)
    for signature in sorted(seen, key=lambda entry: (-entry.used_by, entry.path, entry.line)):
        cost = count_tokens(_line(signature, contents)) + (
            0 if any(entry.path == signature.path for entry in kept) else count_tokens(signature.path) + 1
        )
        if cost > left:
            break
        kept.append(signature)
        left -= cost
    if not kept:
        return ""
    by_file = Counter[str]()
    for signature in kept:
        by_file[signature.path] += signature.used_by + 1
    listed = [MAP_TITLE]
    for path, _ in sorted(by_file.items(), key=lambda item: (-item[1], item[0])):
        own = sorted((entry for entry in kept if entry.path == path), key=lambda entry: entry.line)
        listed += [path, *(_line(signature, contents) for signature in own)]
    return "\n" + "\n".join(listed) + "\n"


def signatures_of(
    defined: Mapping[str, Iterable[tuple[str, int]]], uses: Mapping[str, Iterable[str]]
) -> list[Signature]:
    """Make the entries of the map: each definition of some files, with how many of the retrieved files use its name.

    Args:
        defined: For each file of the map the names it defines, with their lines.
        uses: For each retrieved file the names it imports, calls or uses as a type.
    """
    counted = Counter(name for names in uses.values() for name in set(names))
    return [
        Signature(path, line, name, counted[name] - (name in set(uses.get(path, ()))))
        for path, found in defined.items()
        for name, line in found
    ]


def _line(signature: Signature, contents: Mapping[str, str]) -> str:
    lines = lines_of(contents[signature.path])
    text = lines[signature.line - 1].strip() if signature.line <= len(lines) else signature.name
    return f"  {signature.line}: {text[:MAX_SIGNATURE_CHARS]}"
