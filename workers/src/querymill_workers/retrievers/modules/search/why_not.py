"""Explain why a code document is not among the hits. Every lever is a search that was run."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.contracts.why_not import Absence, Lever
from querymill_shared.values import value
from querymill_workers.retrievers.modules.notes import FusedDocument
from querymill_workers.retrievers.modules.ports import KIND, ModulePorts
from querymill_workers.retrievers.modules.rules.documents import DocumentId, shown_id
from querymill_workers.retrievers.modules.search.understand import UnderstoodRequest

#: What a document passes on its way to the hits, in order.
GATES: Final = ("collection", "filter", "match", "channels", "top_k")
#: The most that a request may ask for: documents of a channel, and hits.
DEEPEST: Final = 1_000
LONGEST: Final = 100

#: Ranks once more with other fields, for the same parts of the request.
RankAgain = Callable[[ModuleSearch], Sequence[FusedDocument]]


@value
class MissedGate:
    """The first gate that a document did not pass, what is said of it and of earlier ones, and what would change it."""

    name: str
    said: str
    passed: Mapping[str, str] = field(default_factory=dict)
    lever: Lever | None = None


def explain_absence(
    document: DocumentId, understood: UnderstoodRequest, ranking: Sequence[FusedDocument], again: RankAgain,
    request: ModuleSearch, ports: ModulePorts,
) -> Absence:  # fmt: skip
    """Say which gate a document did not pass, or its place if it is a hit."""
    missed = missed_gate(document, understood, ranking, again, request, ports)
    place = place_of(document, ranking)
    wanted = request.why_not or ""
    if missed is None:
        return Absence.as_hit(wanted, GATES, place, passed={"match": say_ranks(ranking[place - 1])})
    return Absence.at(wanted, GATES, missed.name, missed.said, passed=missed.passed, lever=missed.lever)


def missed_gate(
    document: DocumentId, understood: UnderstoodRequest, ranking: Sequence[FusedDocument], again: RankAgain,
    request: ModuleSearch, ports: ModulePorts,
) -> MissedGate | None:  # fmt: skip
    """Find the first gate that a document did not pass, None if it is a hit."""
    if document not in ports.modules.documents(request.collection, [document]):
        return MissedGate("collection", "the collection has no such document")
    if request.filter and shown_id(document) not in ports.documents[KIND].ids(request.collection, request.filter):
        return MissedGate("filter", "it does not pass the filter")
    if place := place_of(document, ranking):
        if place <= request.top_k:
            return None
        said = say_place(place, ranking, top_k=request.top_k)
        lever = lever_of(document, place, request, again)
        return MissedGate("top_k", said, {"match": say_ranks(ranking[place - 1])}, lever)
    deeper = {hit.document: hit for hit in again(request.model_copy(update={"candidates": DEEPEST}))}
    if document not in deeper:
        asked = [module.name for part in understood.parts for module in part.modules]
        channels = sorted({name for hit in deeper.values() for name in hit.channels})
        return MissedGate("match", say_unmatched(asked, channels))
    needed = least_candidates(document, request, again)
    place = place_of(document, again(request.model_copy(update={"candidates": needed})))
    lever = lever_of(document, place, request, again, candidates=needed) if place else None
    said = say_cut(deeper[document], needed=needed, candidates=request.candidates)
    return MissedGate("channels", said, lever=lever)


def place_of(wanted: DocumentId, ranking: Sequence[FusedDocument]) -> int:
    """Return the place of a document in a ranking, from 1; 0 if it is not in it."""
    return next((place for place, hit in enumerate(ranking, start=1) if hit.document == wanted), 0)


def least_candidates(document: DocumentId, request: ModuleSearch, again: RankAgain) -> int:
    """Return the fewest candidates with which a document that is found at all is in the ranking."""

    def is_in(candidates: int) -> bool:
        return place_of(document, again(request.model_copy(update={"candidates": candidates}))) > 0

    return bisect_left(range(DEEPEST), x=True, lo=request.candidates + 1, key=is_in)


def lever_of(
    document: DocumentId, place: int, request: ModuleSearch, again: RankAgain, *, candidates: int | None = None
) -> Lever | None:
    """Return the fields that bring a document in at its place, None if no list is long enough."""
    if place > LONGEST:
        return None
    fields: dict[str, Any] = {} if candidates is None else {"candidates": candidates}
    if place > request.top_k:
        fields["top_k"] = place
    if place > (candidates or request.candidates):  # no channel may give fewer than are returned
        fields["candidates"] = place
        place = place_of(document, again(request.model_copy(update=fields)))
        fields["top_k"] = max(place, request.top_k)
    return Lever(fields=fields, place=place) if 0 < place <= fields.get("top_k", request.top_k) else None


def say_ranks(hit: FusedDocument) -> str:
    """Say where each channel has a document: "3rd by modules" is written "modules 3, text 17"."""
    return ", ".join(f"{name} {found.rank}" for name, found in sorted(hit.channels.items()))


def say_unmatched(asked: Iterable[str], channels: Iterable[str]) -> str:
    """Say that no channel found a document, and which modules were asked for."""
    names = sorted(dict.fromkeys(asked))
    modules = f"it uses none of {', '.join(names)}" if names else "the request names no module"
    others = [name for name in channels if name != "modules"]
    return modules + (f", and {' and '.join(others)} did not find it" if others else "")


def say_cut(hit: FusedDocument, *, needed: int, candidates: int) -> str:
    """Say that every channel took better documents. Equal scores share a rank, so ranks may be below the limit."""
    return f"number {needed} of its best channel (rank in {say_ranks(hit)}); each channel gives {candidates}"


def say_place(place: int, ranking: Sequence[FusedDocument], *, top_k: int) -> str:
    """Say that better documents fill the list, with both scores."""
    last = ranking[min(top_k, len(ranking)) - 1]
    own = ranking[place - 1]
    return (
        f"place {place} of {len(ranking)} ({own.score:.4f}; the last one returned {last.score:.4f}), "
        f"{top_k} {'is' if top_k == 1 else 'are'} returned"
    )
