"""The step that explains an absence: it searches once more, with what the branches searched, and reads further down.

    branches ─> (rerank) ─> why-not ─> (answer -> judge) ─> settle

Every lever is a search that was run. Where a judge orders the hits, no lever is computed: it would have to be asked.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from querymill_shared.board import Claim, Outcome, Picture
from querymill_shared.contracts.reports.search import ORIGINAL, SUBQUESTION, WHY_NOT, ReportSearch
from querymill_shared.contracts.why_not import Absence, Lever
from querymill_shared.values import value
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.notes import StepNotes
from querymill_workers.jobs.stages import Laps
from querymill_workers.retrievers.reports import reranking
from querymill_workers.retrievers.reports.choosing import MAX_DOCUMENTS_ONE_BY_ONE, choose_reports, own_documents
from querymill_workers.retrievers.reports.findings import Findings, fuse_found, rank
from querymill_workers.retrievers.reports.notes import read_words
from querymill_workers.retrievers.reports.ports import EMBEDDABLE, ReportPorts
from querymill_workers.retrievers.reports.ranked import distinct_hits
from querymill_workers.retrievers.reports.recall import QueryVectors, recall, recall_by_words
from querymill_workers.retrievers.reports.rules.absence import (
    GATES,
    Wanted,
    alike,
    best_standing,
    read_wanted,
    say_behind,
    say_place,
    standing,
)
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.retrievers.reports.rules.joining import RankedHit
from querymill_workers.retrievers.reports.rules.routing import Route
from querymill_workers.text.queries import normalise
from querymill_workers.vectors.question import compared_model, embed_by

#: The most that a request may ask for: passages of each query and report, and hits.
DEEPEST: Final = 1_000
LONGEST: Final = 200
#: The embedding model is cut this long before the deadline, in seconds: its vectors are cached as a rule.
MARGIN_S: Final = 0.2
#: Searches that a lever is tried with.
_RUNS: Final = 4


class AbsenceNotes(StepNotes):
    """The notes of the step."""

    why_not: Absence | None = None


@value
class SearchedOnce:
    """What the branches searched: the route, the documents of each query, and the vectors, none if words answered."""

    chosen: Route
    documents: Mapping[str, tuple[str, ...]]
    vectors: QueryVectors
    model: str

    @property
    def one_by_one(self) -> bool:
        """Whether each report gives passages of its own."""
        return len(self.chosen.documents) <= MAX_DOCUMENTS_ONE_BY_ONE

    def ranking(self, request: ReportSearch, ports: ReportPorts, *, beside: tuple[str, ...] = ()) -> list[RankedHit]:
        """Rank once more, with other fields, and with more reports ``beside`` those that were chosen."""

        def documents_of(query: str) -> tuple[str, ...]:
            return tuple(sorted({*self.documents[query], *beside}))

        where = (documents_of, self.chosen.sides, self.model, request, ports)
        found = recall(self.vectors, *where) if self.vectors else recall_by_words(tuple(self.documents), *where)
        return rank(fuse_found(found.hits, request), read_words(found.words), self.chosen.sides)


def wants_step(picture: Picture, request: ReportSearch) -> bool:
    """Return whether an absence is to be explained, and the step was not added yet."""
    return request.why_not is not None and all(step.name != WHY_NOT for step in picture.steps)


def read_absence(picture: Picture) -> Absence | None:
    """Return what the step found, if it was asked and is done."""
    done = (step for step in picture.steps if step.name == WHY_NOT and step.state == "done")
    return next((AbsenceNotes.of(step).why_not for step in done), None)


def run_step(claim: Claim, findings: Findings, ports: ReportPorts) -> Outcome:
    """Explain why something is not among the hits."""
    laps = Laps(ports)
    wanted = read_wanted(findings.request.why_not or "")
    searched = search_once(claim, findings, ports)
    laps.lap("embed")
    with ports.reports.reading():
        absence = explain_absence(wanted, searched, findings, ports)
    laps.lap("search")
    notes = AbsenceNotes(why_not=absence, timing=laps.ms)
    return Outcome(notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts)


def search_once(claim: Claim, findings: Findings, ports: ReportPorts) -> SearchedOnce:
    """Find what the branches searched. A vector that does not come again in time leaves the words."""
    request, branches = findings.request, findings.branches
    model = compared_model(EMBEDDABLE, request.collection, ports)
    chosen = choose_reports(request, claim.submitted, ports)
    queries = {normalise(request.query): ORIGINAL}
    for name, branch in branches.items():
        queries |= {text: name for text in branch.texts if text not in queries}
    documents = {
        query: own_documents(query, chosen, request, claim.submitted, ports)
        if name == SUBQUESTION
        else chosen.documents
        for query, name in queries.items()
    }
    if any(branch.unvectored for branch in branches.values()):
        return SearchedOnce(chosen, documents, {}, model.model)
    try:
        made = embed_by(model, claim, request, list(queries), ports, margin_s=MARGIN_S, patience_s=None)
    except (Unavailable, Refused):
        return SearchedOnce(chosen, documents, {}, model.model)
    return SearchedOnce(chosen, documents, dict(zip(queries, made.vectors, strict=True)), model.model)


def explain_absence(wanted: Wanted, searched: SearchedOnce, findings: Findings, ports: ReportPorts) -> Absence:
    """Name the first gate that a report, page or passage did not pass, with its numbers and what brings it in."""
    request = findings.request
    shown = request.why_not or wanted.document
    hits = reranking.final_hits(findings, ports)
    keys = [HitKey(hit.document, hit.unit, hit.number) for hit in hits]
    if place := next((place for place, key in enumerate(keys, start=1) if wanted.is_met_by(key)), 0):
        return Absence.as_hit(shown, GATES, place)
    cards = {card.sha1 for card in ports.reports.cards(request.collection)}
    texts = ports.reports.texts(request.collection, [wanted.key]) if wanted.key else {}
    if wanted.document not in cards or (wanted.key is not None and wanted.key not in texts):
        what = "report" if wanted.document not in cards else wanted.key.unit if wanted.key else "report"
        return Absence.at(shown, GATES, "collection", f"the collection has no such {what}")
    if request.filter and wanted.document not in ports.reports.matching(request.collection, request.filter):
        return Absence.at(
            shown, GATES, "filter", f"its report does not pass: {', '.join(failing(wanted, request, ports))}"
        )
    if wanted.document not in searched.chosen.documents:
        said = f"{len(searched.chosen.documents)} of {len(cards)} reports were searched: {searched.chosen.reason}"
        return Absence.at(shown, GATES, "routing", said, lever=named_too(wanted, searched, request, ports))
    ranking = findings.ranking
    at = next((place for place, hit in enumerate(ranking, start=1) if wanted.is_met_by(hit.key)), 0)
    if not at:
        return explain_unfound(shown, wanted, searched, request, ports)
    return explain_place(shown, wanted, at, ranking, searched, request, ports)


def failing(wanted: Wanted, request: ReportSearch, ports: ReportPorts) -> list[str]:
    """Return the names of the conditions that a report does not meet."""
    return [
        name
        for name, condition in request.filter.items()
        if wanted.document not in ports.reports.matching(request.collection, {name: condition})
    ]


def named_too(wanted: Wanted, searched: SearchedOnce, request: ReportSearch, ports: ReportPorts) -> Lever | None:
    """Return the lever that names the report beside those that were chosen, if it brings it in."""
    names = sorted({*searched.chosen.documents, wanted.document})
    # A sub-question searches the reports that it names itself, and all of those that are named to it.
    if request.rerank or SUBQUESTION in request.multi_query or len(names) > DEEPEST:
        return None
    return _lever(wanted, {"documents": names}, searched, request, ports, beside=(wanted.document,))


def explain_unfound(
    shown: str, wanted: Wanted, searched: SearchedOnce, request: ReportSearch, ports: ReportPorts
) -> Absence:
    """Say why no query took any of its passages: no vector yet, or better passages."""
    found = best_standing(
        standing(own, wanted, taken=request.depth) for own in own_passages(wanted, searched, request, ports)
    )
    if found is None:
        lacking = "none of its passages has a vector yet" if searched.vectors else "the question got no vector in time"
        said = f"{lacking}, and by words others came first"
        return Absence.at(shown, GATES, "vector", said)
    said = say_behind(found, taken=request.depth, one_by_one=searched.one_by_one)
    lever = None
    if not request.rerank and request.depth < found.place <= DEEPEST:
        lever = _lever(wanted, {"candidates": found.place}, searched, request, ports)
    return Absence.at(shown, GATES, "candidates", said, lever=lever)


def own_passages(
    wanted: Wanted, searched: SearchedOnce, request: ReportSearch, ports: ReportPorts
) -> list[list[tuple[HitKey, float]]]:
    """Return, for each query, the passages or pages that it is compared with, the best first."""
    documents = (wanted.document,) if searched.one_by_one else searched.chosen.documents
    found = ports.reports.search(
        request.collection,
        {query: np.asarray(vector) for query, vector in searched.vectors.items()},
        model=searched.model, documents=documents, depth=DEEPEST, per_document=searched.one_by_one,
        pages=request.return_parent_pages,
    ) if searched.vectors else []  # fmt: skip
    by_query: dict[str, list[tuple[HitKey, float]]] = {}
    for passage in found:
        page, chunk = HitKey(passage.document, "page", passage.page), HitKey(passage.document, "chunk", passage.chunk)
        key = page if request.return_parent_pages else chunk
        by_query.setdefault(passage.query, []).append((key, passage.inner_product))
    return list(by_query.values())


def explain_place(
    shown: str,
    wanted: Wanted,
    at: int,
    ranking: Sequence[RankedHit],
    searched: SearchedOnce,
    request: ReportSearch,
    ports: ReportPorts,
) -> Absence:
    """Say why what was found is not returned: a near duplicate stands for it, the judge, or its place."""
    passed = {"candidates": f"place {at} of {len(ranking)} in the ranking"}
    best = distinct_hits(ranking, request, ports, count=max(at, request.top_n))
    twins = {place: hit.duplicates for place, (hit, _) in enumerate(best, start=1)}
    if (twin := alike(wanted, twins)) is not None:
        said = f"its text is nearly that of hit {twin}, which stands for it"
        return Absence.at(shown, GATES, "fusion", said, passed=passed)
    if request.rerank:
        judged = reranking.judged_at_most(request)
        said = f"place {at} before the judge, who read {judged}"
        return Absence.at(shown, GATES, "rerank", said, passed=passed)
    place = _place(wanted, [hit for hit, _ in best]) or at
    said = say_place(place, len(ranking), top_n=request.top_n)
    lever = _lever(wanted, {}, searched, request, ports) if place <= LONGEST else None
    return Absence.at(shown, GATES, "top_n", said, passed=passed, lever=lever)


def _lever(
    wanted: Wanted,
    fields: dict[str, Any],
    searched: SearchedOnce,
    request: ReportSearch,
    ports: ReportPorts,
    *,
    beside: tuple[str, ...] = (),
) -> Lever | None:
    """Return the fields that bring in what is missed, with a longer list if its place needs one.

    A longer list has each query fetch more, which can move its place: the search is run until both agree.
    """
    for _ in range(_RUNS):
        changed = request.model_copy(update=fields)
        best = distinct_hits(searched.ranking(changed, ports, beside=beside), changed, ports, count=LONGEST)
        place = _place(wanted, [hit for hit, _ in best])
        if not place or place <= changed.top_n:
            return Lever(fields=fields, place=place) if place else None
        fields = fields | {"top_n": place}
        if changed.candidates is not None and changed.candidates < place:
            fields["candidates"] = place
    return None


def _place(wanted: Wanted, hits: Sequence[RankedHit]) -> int:
    return next((place for place, hit in enumerate(hits, start=1) if wanted.is_met_by(hit.key)), 0)
