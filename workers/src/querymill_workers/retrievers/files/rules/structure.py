"""What a file gains, beside its words, by what it is, defines and uses."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final

from querymill_shared.values import value
from querymill_workers.retrievers.files.rules.code import Symbol
from querymill_workers.retrievers.files.rules.kinds import FileKind, share_of
from querymill_workers.retrievers.files.rules.named import BY_NAME, BY_PATH

#: A file that defines what the best definitions use, or that uses what the request names, is medium at least, below
#: the files whose own words make them medium: rounds add to the list and do not reorder it.
STRUCTURE: Final = 0.5
#: How much a file's own words count above what its structure gives.
OWN_SHARE: Final = 0.02
#: What a definition gains that the request names, and one that closes a gap.
NAMED_GAIN, GAP_GAIN = 1.0, 0.25
#: The reason of a file that the request names by its path.
NAMED: Final = "named in the request"


@value
class Expected:
    """What a round expects of a file beside its words.

    ``kinds``, ``names``, ``quoted`` (in quotes or called) and ``paths`` are those that the request names, with the
    ``lines`` that it names of a path. ``definers`` are the files that define a quoted name. ``gaps`` maps each name
    that a file uses and nothing retrieved defines to that file.
    """

    kinds: frozenset[FileKind]
    names: frozenset[str]
    quoted: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()
    definers: frozenset[str] = frozenset()
    lines: Mapping[str, Sequence[int]] = field(default_factory=dict)
    gaps: Mapping[str, str] = field(default_factory=dict)

    @property
    def gains(self) -> Mapping[str, float]:
        """What a definition of each name gains."""
        return dict.fromkeys(self.gaps, GAP_GAIN) | dict.fromkeys(self.names, NAMED_GAIN)


def raised(own: float, path: str, kind: FileKind, symbols: Sequence[Symbol], expected: Expected) -> tuple[float, str]:
    """Raise a file's ``own`` relevance by its structure, lower that of a kind not asked for, and say what raised it."""
    least, reason = _least(path, symbols, expected)
    relevance = max(own, least + (1 - least) * OWN_SHARE * own) if least else own
    if path not in expected.paths:
        relevance *= share_of(kind, asked=expected.kinds)
    return round(relevance, 6), reason


def _least(path: str, symbols: Sequence[Symbol], expected: Expected) -> tuple[float, str]:
    """Return the least relevance of a file by its structure, and why; 0 and "" for none."""
    if path in expected.paths:
        return BY_PATH, NAMED
    defined = [symbol.name for symbol in symbols if symbol.role == "definition"]
    if path in expected.definers:
        names = [name for name in dict.fromkeys(defined) if name in expected.quoted]
        return BY_NAME, f"defines {', '.join(names)}, named in the request"
    closed = [name for name in dict.fromkeys(defined) if name in expected.gaps]
    if closed:
        return STRUCTURE, "; ".join(f"defines {name}, which {expected.gaps[name]} uses" for name in closed[:3])
    used = [symbol.name for symbol in symbols if symbol.role != "definition" and symbol.name in expected.quoted]
    if used:
        return STRUCTURE, f"uses {', '.join(dict.fromkeys(used))}, named in the request"
    return 0.0, ""
