"""What a request and the rounds before ask of a file beside its words: names, paths, kinds, and gaps to close."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final

from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.values import frozen
from querymill_workers.retrievers.files.notes import NAMED, FileNotes, SearchNotes
from querymill_workers.retrievers.files.ports import FilePorts
from querymill_workers.retrievers.files.rules.code import Symbol
from querymill_workers.retrievers.files.rules.kinds import FileKind, kinds_asked, share_of
from querymill_workers.retrievers.files.rules.named import (
    BY_NAME,
    BY_PATH,
    MAX_DEFINERS,
    ends_with,
    max_definers,
    meant,
    names_in,
    paths_in,
    quoted_in,
)
from querymill_workers.retrievers.files.stages import NAMED_FILES, NAMED_SYMBOLS, Round, evaluated_files

#: A file that defines what the best definitions use, or that uses what the request names, is medium at least, below
#: the files whose own words make them medium: rounds add to the list and do not reorder it.
STRUCTURE: Final = 0.5
#: How much a file's own words count above what its structure gives.
OWN_SHARE: Final = 0.02
#: What a definition gains that the request names, and one that closes a gap.
NAMED_GAIN, GAP_GAIN = 1.0, 0.25
#: Files of one name that are looked at when a request names a path.
SAME_NAME: Final = 200


@frozen
class Asked:
    """What is asked. ``names`` look like identifiers, ``quoted`` are those in quotes or called.

    ``gaps`` maps each name that a file uses and nothing retrieved defines to that file.
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


def find_named(request: FileSearch, ports: FilePorts, among: Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    """Find the files that the request names by path, and those that define a name of it, unless many do."""
    by_path: list[str] = []
    for named in paths_in(request.query):
        last = named.path.rpartition("/")[2]
        same = ports.files.glob(request.collection, f"**/{last}", limit=SAME_NAME, paths=among)
        by_path += meant(named.path, same)
    names = quoted_in(request.query)
    places = ports.files.named(request.collection, names, roles=("definition",), limit=MAX_DEFINERS + 1, paths=among)
    definers: dict[str, list[str]] = {name: [] for name in names}
    for place in places:
        definers[place.symbol.name].append(place.path)
    by_name = [
        path
        for name, found in definers.items()
        if len(set(found)) <= max_definers(name, request.query)
        for path in found
    ]
    found = {NAMED_FILES: tuple(dict.fromkeys(by_path)), NAMED_SYMBOLS: tuple(dict.fromkeys(by_name))}
    return {query: paths for query, paths in found.items() if paths}


def asked_of(number: int, rounds: Sequence[Round], request: FileSearch) -> Asked:
    """Gather what is asked in a round: by the request in each, by the gaps of the plan before in a later one."""
    found: dict[str, tuple[str, ...]] = {}
    for step in rounds[0].searches:
        found |= SearchNotes.of(step).found
    by_path = found.get(NAMED_FILES, ())
    return Asked(
        kinds=kinds_asked(request.query) | frozenset(request.kinds),
        names=frozenset(names_in(request.query)),
        quoted=frozenset(quoted_in(request.query)),
        paths=frozenset(by_path),
        definers=frozenset(found.get(NAMED_SYMBOLS, ())),
        lines={
            path: [named.line for named in paths_in(request.query) if named.line and ends_with(path, named.path)]
            for path in by_path
        },
        gaps=gaps_before(number, rounds, request),
    )


def gaps_before(number: int, rounds: Sequence[Round], request: FileSearch) -> dict[str, str]:
    """Return the gaps that the searches of a round are to close, each with the most relevant file that uses it."""
    before = [round_ for round_ in rounds if round_.number < number]
    if not before:
        return {}
    searched = set(before[-1].planned.gaps).intersection(before[-1].planned.patterns)
    files = sorted(evaluated_files(before, request).values(), key=lambda file: (-file.relevance, file.path))
    users = {name: next((file.path for file in files if name in file.notes.uses), "") for name in searched}
    return {name: path for name, path in users.items() if path}


def raised(notes: FileNotes, path: str, symbols: Sequence[Symbol], asked: Asked) -> FileNotes:
    """Raise a file's relevance by what it is, defines and uses, and lower that of a kind that is not asked for."""
    own = notes.relevance
    least, reason = _least(path, symbols, asked)
    relevance = max(own, least + (1 - least) * OWN_SHARE * own) if least else own
    if path not in asked.paths:
        relevance *= share_of(notes.kind, asked=asked.kinds)
    return notes.model_copy(update={"relevance": round(relevance, 6), "reason": reason})


def _least(path: str, symbols: Sequence[Symbol], asked: Asked) -> tuple[float, str]:
    """Return the least relevance of a file by its structure, and why; 0 and "" for none."""
    if path in asked.paths:
        return BY_PATH, NAMED
    defined = [symbol.name for symbol in symbols if symbol.role == "definition"]
    if path in asked.definers:
        names = [name for name in dict.fromkeys(defined) if name in asked.quoted]
        return BY_NAME, f"defines {', '.join(names)}, named in the request"
    closed = [name for name in dict.fromkeys(defined) if name in asked.gaps]
    if closed:
        return STRUCTURE, "; ".join(f"defines {name}, which {asked.gaps[name]} uses" for name in closed[:3])
    used = [symbol.name for symbol in symbols if symbol.role != "definition" and symbol.name in asked.quoted]
    if used:
        return STRUCTURE, f"uses {', '.join(dict.fromkeys(used))}, named in the request"
    return 0.0, ""
