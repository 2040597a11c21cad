"""Explain why a code document is not among the hits. Every lever is a search that was run."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, Final

from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.contracts.why_not import Absence, Lever
from querymill_workers.retrievers.modules.ports import ModulePorts
from querymill_workers.retrievers.modules.rules.absence import (
    GATES,
    place_of,
    say_cut,
    say_place,
    say_ranks,
    say_unmatched,
)
from querymill_workers.retrievers.modules.rules.documents import DocumentId, read_id
from querymill_workers.retrievers.modules.rules.join import FusedHit

#: The most that a request may ask for: documents of a channel, and hits.
DEEPEST: Final = 1_000
LONGEST: Final = 100

#: Ranks once more with other fields, for the same parts of the request.
RankAgain = Callable[[ModuleSearch], Sequence[FusedHit]]


def explain_absence(
    request: ModuleSearch, wanted: str, ranking: Sequence[FusedHit], asked: Sequence[str], again: RankAgain,
    ports: ModulePorts,
) -> Absence:  # fmt: skip
    """Name the first gate that a document did not pass. ``asked`` are the modules that the request asks for."""
    document = find_document(wanted, request, ports)
    if document is None:
        return Absence.at(wanted, GATES, "collection", "the collection has no such document")
    if request.filter and document not in ports.modules.listed(request.collection, request.filter):
        return Absence.at(wanted, GATES, "filter", "it does not pass the filter")
    if place := place_of(document, ranking):
        passed = {"match": say_ranks(ranking[place - 1])}
        if place <= request.top_k:
            return Absence.as_hit(wanted, GATES, place, passed=passed)
        said = say_place(place, ranking, top_k=request.top_k)
        lever = lever_of(document, place, request, again)
        return Absence.at(wanted, GATES, "top_k", said, passed=passed, lever=lever)
    deeper = {hit.document: hit for hit in again(request.model_copy(update={"candidates": DEEPEST}))}
    if document not in deeper:
        channels = sorted({name for hit in deeper.values() for name in hit.channels})
        return Absence.at(wanted, GATES, "match", say_unmatched(asked, channels))
    candidates = least_candidates(document, request, again)
    place = place_of(document, again(request.model_copy(update={"candidates": candidates})))
    lever = lever_of(document, place, request, again, candidates=candidates) if place else None
    said = say_cut(deeper[document], needed=candidates, candidates=request.candidates)
    return Absence.at(wanted, GATES, "channels", said, lever=lever)


def find_document(wanted: str, request: ModuleSearch, ports: ModulePorts) -> DocumentId | None:
    """Return the id of a stored document that is given as people write it, None if there is none."""
    document = read_id(wanted)
    return document if document in ports.modules.documents(request.collection, [document]) else None


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
