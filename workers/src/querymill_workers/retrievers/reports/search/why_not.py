"""The step that explains an absence: it searches once more, with what the branches searched, and reads further down.

    branches ─> (rerank) ─> why-not ─> (answer -> judge) ─> settle

A lever names the fields that would bring it in, and is a search that was run with them.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

import numpy as np

from querymill_shared.board import Claim, Outcome
from querymill_shared.branches import ORIGINAL, SUBQUESTION
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.why_not import Absence, Lever
from querymill_shared.values import value
from querymill_workers.jobs.stages import Laps
from querymill_workers.retrievers.reports.ports import EMBEDDABLE, ReportPorts
from querymill_workers.retrievers.reports.rules.absence import (
    GATES,
    WantedHit,
    alike,
    best_standing,
    place_of,
    read_wanted,
    say_behind,
    say_place,
    standing,
)
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.retrievers.reports.rules.routing import Route
from querymill_workers.retrievers.reports.search.choose import distinct_hits
from querymill_workers.retrievers.reports.search.notes import AbsenceNotes
from querymill_workers.retrievers.reports.search.ranking import FoundByBranches, rank
from querymill_workers.retrievers.reports.search.recall import QueryVectors, embed_queries, recall
from querymill_workers.retrievers.reports.search.understand import (
    MAX_DOCUMENTS_ONE_BY_ONE,
    choose_reports,
    documents_by_query,
)
from querymill_workers.text.queries import normalise
from querymill_workers.vectors.question import compared_model
from querymill_workers.vectors.rules.weights import VectorsWeight

#: The most that a request may ask for: passages of each query and report, and hits.
DEEPEST: Final = 1_000
LONGEST: Final = 200
#: The embedding model is cut this long before the deadline, in seconds: its vectors are cached as a rule.
MARGIN_S: Final = 0.2
#: Searches that a lever is tried with.
_RUNS: Final = 4


@value
class SearchedOnce:
    """What the branches searched: the route, the documents of each query, and the vectors, none if words answered."""

    route: Route
    documents: Mapping[str, tuple[str, ...]]
    vectors: QueryVectors
    model: str
    weight: VectorsWeight

    @property
    def one_by_one(self) -> bool:
        """Whether each report gives passages of its own."""
        return len(self.route.documents) <= MAX_DOCUMENTS_ONE_BY_ONE


@value
class FailedGate:
    """The gate that was not passed and why, and what is said of earlier gates.

    ``fields`` are what may bring it in, with a longer list if its place needs one; None if that is not known.
    ``beside`` are the reports that they add to those that were chosen.
    """

    name: str
    said: str
    passed: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Any] | None = None
    beside: tuple[str, ...] = ()


def explain_absence(
    hits: Sequence[HitKey], found: FoundByBranches, claim: Claim, ports: ReportPorts, laps: Laps
) -> Outcome:
    """Explain why something is not among the hits of the result: at which gate it failed, with its numbers."""
    shown = found.request.why_not or ""
    wanted = read_wanted(shown)
    place, lever = place_of(wanted, hits), None
    if place:
        absence = Absence.as_hit(shown, GATES, place)
    else:
        searched = search_once(found, claim, ports)
        laps.lap("embed")
        with ports.reports.reading():
            failed = find_gate(wanted, searched, found, ports)
            # Where a judge orders the hits, it would have to be asked.
            if failed.fields is not None and not found.request.rerank:
                lever = find_lever(wanted, failed.fields, failed.beside, searched, found.request, ports)
        absence = Absence.at(shown, GATES, failed.name, failed.said, passed=failed.passed, lever=lever)
    laps.lap("search")
    notes = AbsenceNotes(why_not=absence, timing=laps.ms)
    return Outcome(notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts)


def search_once(found: FoundByBranches, claim: Claim, ports: ReportPorts) -> SearchedOnce:
    """Find what the branches searched. A vector that does not come again in time leaves the words."""
    request = found.request
    model = compared_model(EMBEDDABLE, request.collection, ports)
    queries = {normalise(request.query): ORIGINAL}
    for name, branch in found.branches.items():
        queries |= {text: name for text in branch.texts if text not in queries}
    route = choose_reports(claim, request, ports)
    documents = documents_by_query(queries, route, claim, request, ports)
    vectors: QueryVectors = {}
    if not any(branch.unvectored for branch in found.branches.values()):
        made = embed_queries(list(queries), model, claim, request, ports, margin_s=MARGIN_S, patience_s=None)
        vectors = made.vectors
    return SearchedOnce(route, documents, vectors, model.model, found.weight)


def find_gate(wanted: WantedHit, searched: SearchedOnce, found: FoundByBranches, ports: ReportPorts) -> FailedGate:
    """Find the first gate that a report, page or passage did not pass, with its numbers and what may bring it in."""
    request, chosen = found.request, searched.route.documents
    cards = {card.sha1 for card in ports.reports.cards(request.collection)}
    texts = ports.reports.texts(request.collection, [wanted.key]) if wanted.key else {}
    if wanted.document not in cards or (wanted.key is not None and wanted.key not in texts):
        what = "report" if wanted.document not in cards or wanted.key is None else wanted.key.unit
        return FailedGate("collection", f"the collection has no such {what}")
    if request.filter and wanted.document not in ports.documents["reports"].ids(request.collection, request.filter):
        failing = [
            name
            for name, condition in request.filter.items()
            if wanted.document not in ports.documents["reports"].ids(request.collection, {name: condition})
        ]
        return FailedGate("filter", f"its report does not pass: {', '.join(failing)}")
    if wanted.document not in chosen:
        said = f"{len(chosen)} of {len(cards)} reports were searched: {searched.route.reason}"
        names = sorted({*chosen, wanted.document})
        # A sub-question searches the reports that it names itself, and all of those that are named to it.
        can_name = SUBQUESTION not in request.multi_query and len(names) <= DEEPEST
        fields = {"documents": names} if can_name else None
        return FailedGate("routing", said, fields=fields, beside=(wanted.document,))
    if at := place_of(wanted, [hit.key for hit in found.ranking]):
        return find_place(wanted, at, found, ports)
    return find_unfound(wanted, searched, request, ports)


def find_place(wanted: WantedHit, at: int, found: FoundByBranches, ports: ReportPorts) -> FailedGate:
    """Say why what was found is not returned: a near duplicate stands for it, the judge, or its place."""
    request, total = found.request, len(found.ranking)
    passed = {"candidates": f"place {at} of {total} in the ranking"}
    best = [hit for hit, _ in distinct_hits(found.ranking, request, ports, count=max(at, request.top_n))]
    twins = {place: hit.duplicates for place, hit in enumerate(best, start=1)}
    if (twin := alike(wanted, twins)) is not None:
        return FailedGate("fusion", f"its text is nearly that of hit {twin}, which stands for it", passed)
    if request.rerank:
        return FailedGate("rerank", f"place {at} before the judge, who read {found.judged}", passed)
    place = place_of(wanted, [hit.key for hit in best]) or at
    said = say_place(place, total, top_n=request.top_n)
    return FailedGate("top_n", said, passed, {} if place <= LONGEST else None)


def find_unfound(wanted: WantedHit, searched: SearchedOnce, request: ReportSearch, ports: ReportPorts) -> FailedGate:
    """Say why no query took any of its passages: no vector, or better passages."""
    compared = compare_passages(wanted, searched, request, ports) if searched.vectors else []
    behind = best_standing(standing(own, wanted, taken=request.depth) for own in compared)
    if behind is None and searched.vectors and exceeds(DEEPEST, wanted, searched, request, ports):
        return FailedGate("candidates", f"its best passage is not among the best {DEEPEST:,}")
    if behind is None:
        lacking = "none of its passages has a vector" if searched.vectors else "the question got no vector in time"
        return FailedGate("vector", f"{lacking}, and by words others came first")
    said = say_behind(behind, taken=request.depth, one_by_one=searched.one_by_one)
    can_take = request.depth < behind.place <= DEEPEST
    return FailedGate("candidates", said, fields={"candidates": behind.place} if can_take else None)


def exceeds(
    compared: int, wanted: WantedHit, searched: SearchedOnce, request: ReportSearch, ports: ReportPorts
) -> bool:
    """Return whether what is missed is one of more passages than can be ``compared``."""
    documents = (wanted.document,) if searched.one_by_one else searched.route.documents
    counted = ports.vectors[EMBEDDABLE.retriever].counts(request.collection, model=searched.model, documents=documents)
    return counted.passages - counted.pending - counted.refused > compared


def compare_passages(
    wanted: WantedHit, searched: SearchedOnce, request: ReportSearch, ports: ReportPorts
) -> Collection[Sequence[tuple[HitKey, float]]]:
    """Return, for each query, the passages or pages that it is compared with, the best first."""
    by_query: defaultdict[str, list[tuple[HitKey, float]]] = defaultdict(list)
    for query, document, page, chunk, inner_product in ports.reports.search(
        request.collection,
        {query: np.asarray(vector) for query, vector in searched.vectors.items()},
        model=searched.model,
        documents=(wanted.document,) if searched.one_by_one else searched.route.documents,
        depth=DEEPEST,
        per_document=searched.one_by_one,
        pages=request.return_parent_pages,
    ):
        key = HitKey(document, "page", page) if request.return_parent_pages else HitKey(document, "chunk", chunk)
        by_query[query] += [(key, inner_product)]
    return by_query.values()


def find_lever(
    wanted: WantedHit,
    fields: Mapping[str, Any],
    beside: tuple[str, ...],
    searched: SearchedOnce,
    request: ReportSearch,
    ports: ReportPorts,
) -> Lever | None:
    """Return the fields that bring in what is missed, with a longer list if its place needs one.

    The search is run with them, and with the reports ``beside`` those that were chosen. A longer list has each query
    fetch more, which can move its place: the search is run until both agree.
    """
    documents = {query: tuple(sorted({*own, *beside})) for query, own in searched.documents.items()}
    sides = searched.route.sides
    for _ in range(_RUNS):
        changed = request.model_copy(update=dict(fields))
        recalled = recall(documents, searched.vectors, sides, searched.model, changed, ports)
        ranking = rank(recalled.hits, [recalled.words], sides, changed, searched.weight)
        best = distinct_hits(ranking, changed, ports, count=LONGEST)
        place = place_of(wanted, [hit.key for hit, _ in best])
        if not place or place <= changed.top_n:
            return Lever(fields=dict(fields), place=place) if place else None
        fields = {**fields, "top_n": place}
        if changed.candidates is not None and changed.candidates < place:
            fields["candidates"] = place
    return None
