"""The result of a search: the hits of all branches in one ranking, and what is missing."""

from collections.abc import Iterable, Mapping
from itertools import islice

from querymill_shared.board import Picture, Verdict
from querymill_shared.branches import step_in
from querymill_shared.contracts.events import TOLD_CHARS, TOLD_TEXTS, Hits, PartialHit
from querymill_shared.contracts.history import HISTORY
from querymill_shared.contracts.results import Degradation
from querymill_shared.contracts.routing import asked_first, leads_of
from querymill_shared.contracts.search import (
    JointHit,
    Search,
    SearchedBranch,
    SearchResult,
    branch_and_step,
    parts_of,
)
from querymill_workers.dispatch.endings import BranchEnding
from querymill_workers.dispatch.joint.evidence import text_of
from querymill_workers.dispatch.joint.rules.ranking import FIRST, RankedHit, grouped, rank_jointly
from querymill_workers.dispatch.joint.rules.routing import ENOUGH, said_of
from querymill_workers.jobs.stages import stage, timing
from querymill_workers.jobs.verdicts import done, lost

Endings = Mapping[str, BranchEnding]
#: Why a branch was not asked.
SPARED = "spared: those that were asked first say enough of the question"


def show_result(picture: Picture, endings: Endings, request: Search) -> Verdict:
    """Return the verdict of a search: done if a branch came through, with what the others lack.

    A branch without an ending was spared.
    """
    if all(ending.result is None for ending in endings.values()):
        reasons = "; ".join(f"{branch}: {ending.reason}" for branch, ending in endings.items())
        return lost(picture, reasons)
    ranking, degraded = ranked(endings, request), tuple(missing(endings))
    steps = [step for step in picture.steps if branch_and_step(step.name)[1]]
    weights = {hit.branch: hit.worth.weight for hit in ranking}
    result = SearchResult(
        job_id=picture.record.job_id,
        query=request.query,
        collections=tuple(dict.fromkeys(parts_of(branch)[1] for branch in request.branches)),
        results=shown(grouped(ranking, request.top_k) if request.group else ranking[: request.top_k], endings),
        branches=tuple(
            searched(branch, endings.get(branch), weights.get(branch), picture) for branch in request.branches
        ),
        routing=routing(endings, request),
        total=sum(ending.result.total for ending in endings.values() if ending.result is not None),
        complete=not degraded,
        degraded=degraded,
        stages=tuple(map(stage, steps)),
        timing=timing(picture, steps),
        usage=used(endings.values()),
    )
    return done(result, picture)


def ranked(endings: Endings, request: Search) -> list[RankedHit]:
    """Return the hits of all branches that have ended in one ranking."""
    question = "\n".join((request.query, *added_by_history(endings)))
    # In the order of the request: that in which branches ended says nothing of equal hits.
    texts = {branch: [text_of(hit) for hit in endings[branch].hits] for branch in request.branches if branch in endings}
    return rank_jointly(question, texts)


def added_by_history(endings: Endings) -> tuple[str, ...]:
    """Return what the earlier turns of a chat added to the question: each branch has searched the same."""
    found = (getattr(ending.result, "expansion_texts", {}).get(HISTORY, ()) for ending in endings.values())
    return next(filter(None, found), ())


def shown(ranking: Iterable[RankedHit], endings: Endings) -> tuple[JointHit, ...]:
    """Return hits of a ranking as a result holds them."""
    found = []
    for hit in ranking:
        kind, collection = parts_of(hit.branch)
        found.append(
            JointHit(
                kind=kind,
                collection=collection,
                rank=hit.rank,
                score=hit.score,
                explanation=hit.explanation,
                hit=endings[hit.branch].hits[hit.rank - 1],
            )
        )
    return tuple(found)


def says_enough(endings: Endings, request: Search) -> bool:
    """Whether what was found so far says enough of the question for the other branches to be spared."""
    return said_first(endings, request) >= ENOUGH


def said_first(endings: Endings, request: Search) -> float:
    """Return how much of the question one of the first hits says of the branches that were asked first."""
    asked = (endings[branch] for branch in request.asked_first if branch in endings)
    return said_of(request.query, (text_of(hit) for ending in asked for hit in islice(ending.hits, FIRST)))


def routing(endings: Endings, request: Search) -> str | None:
    """Say why some branches were asked first, and what became of the others; None if all were asked at once."""
    if not request.asked_first:
        return None
    why = "the request says so"
    if request.asked_first == asked_first(request.query, request.branches):
        why = " and ".join(f"the question {lead.about} ({lead.words!r})" for lead in leads_of(request.query))
    then = "the others were asked, too, because little of it was found at first"
    if len(endings) < len(request.branches):
        then = f"a hit has {said_first(endings, request):.2f} of its words, so the others were spared"
    return f"asked first: {', '.join(request.asked_first)}, because {why}; {then}"


def searched(branch: str, ending: BranchEnding | None, weight: float | None, picture: Picture) -> SearchedBranch:
    """Tell how a branch went, None if it was spared."""
    kind, collection = parts_of(branch)
    if ending is None:
        return SearchedBranch(kind=kind, collection=collection, state="spared", reason=SPARED)
    ended = ending.ended
    return SearchedBranch(
        kind=kind,
        collection=collection,
        state="failed" if ending.result is None else "done",
        total=0 if ending.result is None else ending.result.total,
        ms=None if ended is None else round((ended - picture.record.created) * 1000, 1),
        weight=weight,
        reason=ending.reason or None,
    )


def missing(endings: Endings) -> Iterable[Degradation]:
    """Name each branch that has no result, and what the results of the others lack."""
    for branch, ending in endings.items():
        if ending.result is None:
            yield Degradation(stage=branch, reason=ending.reason, code=ending.code)
            continue
        for part in ending.result.degraded:
            yield part.model_copy(update={"stage": step_in(branch, part.stage)})


def used(endings: Iterable[BranchEnding]) -> dict[str, int]:
    """Add up the provider calls and the tokens of all branches."""
    usages = [ending.result.usage for ending in endings if ending.result is not None]
    return {name: sum(usage.get(name, 0) for usage in usages) for name in dict.fromkeys(n for u in usages for n in u)}


def show_ranking(endings: Endings, request: Search, after: str) -> Hits:
    """Return the ranking so far as an event."""
    ranking = ranked(endings, request)[: request.top_k]
    return Hits(
        after_stage=after,
        total=sum(len(ending.hits) for ending in endings.values()),
        hits=tuple(_told(hit, place, endings) for place, hit in enumerate(ranking)),
    )


def _told(hit: RankedHit, place: int, endings: Endings) -> PartialHit:
    text = text_of(endings[hit.branch].hits[hit.rank - 1])[:TOLD_CHARS] if place < TOLD_TEXTS else None
    return PartialHit(key=f"{hit.branch}#{hit.rank}", score=hit.score, text=text or None)
