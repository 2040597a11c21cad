"""What a definition is worth in the context: its own score, its file's relevance, what it is, and who calls it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from querymill_shared.values import value
from querymill_workers.retrievers.files.rules.code import lines_of
from querymill_workers.retrievers.files.rules.intent import Lines
from querymill_workers.retrievers.files.rules.kinds import OTHER_KINDS

#: How much the relevance of its file counts in the worth of a definition, beside its own score.
FILE_SHARE: Final = 0.5
#: What counts of lines outside of all definitions, in a file that has some: they are imports and headings.
OUTSIDE: Final = 0.6
#: What a definition gains of the worth of the best definition that uses its name, and how many of the best are read.
CALLED: Final = 0.15
CALLERS: Final = 12
#: A name that more of the definitions have says little about each.
MAX_NAMESAKES: Final = 3

_TEST: Final = re.compile(r"(?:^|\.)(?:tests?|test_\w*|(?:Test|Benchmark)[A-Z]\w*)(?:\.|$)")
_NAME: Final = re.compile("[A-Za-z_$][A-Za-z0-9_$]{2,}")


@value
class ContextPart:
    """A definition that may be shown: its lines, its name, and what it is worth."""

    path: str
    lines: Sequence[Lines]
    label: str
    worth: float


def worth(score: float, *, relevance: float, share: float = 1.0) -> float:
    """Weigh a definition by its own score and its file's relevance: ``score × (0.5 + 0.5 × relevance) × share``.

    A definition that scores 0.6 is worth 0.6 in a file of relevance 1 and 0.45 in one of 0.5; half of that if its
    share is 0.5 (`share_of_part`).
    """
    return score * (1 - FILE_SHARE + FILE_SHARE * relevance) * share


def share_of_part(label: str, *, kind_share: float, defines: bool, tests_asked: bool) -> float:
    """Return what counts of a definition: less of a test, of a file of another kind, and of what is outside of all.

    Args:
        label: Its name with what encloses it; "" for lines outside of all definitions.
        kind_share: The share of its file's kind (`share_of`).
        defines: Whether its file has definitions.
        tests_asked: Whether the request asks for tests. Tests may stand in the file that they test.
    """
    share = kind_share * (OUTSIDE if defines and not label else 1.0)
    is_test = kind_share == 1.0 and not tests_asked and _TEST.search(label) is not None
    return share * (OTHER_KINDS if is_test else 1.0)


def with_calls(parts: Sequence[ContextPart], contents: Mapping[str, str]) -> list[ContextPart]:
    """Add to the worth of definitions whose names the best ones use: a reader looks them up next.

    Worked example: the best definition is worth 0.8 and calls ``next_pause``, which is worth 0.1 by its own words and
    then 0.1 + 0.15 × 0.8 = 0.22. A name that more than 3 of the definitions have gains nothing.
    """
    named: dict[str, list[int]] = {}
    for place, part in enumerate(parts):
        if len(name := _own_name(part.label)) > 2:
            named.setdefault(name, []).append(place)
    best = sorted(range(len(parts)), key=lambda place: (-parts[place].worth, parts[place].path, parts[place].lines))
    gains: dict[int, float] = {}
    for caller in best[:CALLERS]:
        for name in _names_used(parts[caller], contents):
            called = named.get(name, [])
            if len(called) <= MAX_NAMESAKES and caller not in called:
                for place in called:
                    gains.setdefault(place, CALLED * parts[caller].worth)
    return [replace(part, worth=part.worth + gains.get(place, 0.0)) for place, part in enumerate(parts)]


def _own_name(label: str) -> str:
    return label.partition(",")[0].rpartition(".")[2].lstrip("#")


def _names_used(part: ContextPart, contents: Mapping[str, str]) -> set[str]:
    lines = lines_of(contents[part.path]) if contents.get(part.path) else []
    return {name for first, last in part.lines for line in lines[first - 1 : last] for name in _NAME.findall(line)}
