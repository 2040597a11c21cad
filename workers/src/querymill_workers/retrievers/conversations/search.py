"""Search conversations: take a question, and return the sessions in which its subject was discussed.

    question -> understand (time, filler, spelling, synonyms) -> candidates by BM25 ┐  cached for an hour
             -> rank parts of the sessions ────────────────────────────────────────┤  cached for a day
             -> final score as of now <─────────────────────────────────────────────┘
             -> vector -> nearest passages -> joined by rank -> by time, if asked -> diversify -> passages -> hits

A search is one step. Only results that depend on neither the time nor the caller are cached. Every key begins with
the collection and its generation, and each search reads the generation first, so nothing cached outlives a change.

``understanding.py`` reads the question, ``recall.py`` finds the candidates, ``ranking.py`` scores them,
``nearness.py`` finds the nearest sessions, ``showing.py`` builds the hits, and ``why_not.py`` explains an absence. The
formulas are in ``rules/``.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from querymill_shared.board import Claim, Outcome, Picture
from querymill_shared.contracts.conversations.search import (
    ConversationResult,
    ConversationSearch,
)
from querymill_shared.contracts.results import Degradation
from querymill_workers.jobs import one_step
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending
from querymill_workers.jobs.ports import Common
from querymill_workers.jobs.stages import Laps, stage, timing
from querymill_workers.retrievers.conversations.nearness import find_near
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ranking import join_near, order_by_time, rank_candidates
from querymill_workers.retrievers.conversations.recall import recall
from querymill_workers.retrievers.conversations.showing import show_hits
from querymill_workers.retrievers.conversations.understanding import question_of
from querymill_workers.retrievers.conversations.why_not import explain_absence

#: What the result says if sessions from other times are among its hits.
RELAXED: Final = Degradation(stage="time", reason="relaxed: few sessions are from then, so others follow below them")


class SearchNotes(Notes):
    """The result without the timing of the job, and how long each phase of the step took, in milliseconds."""

    found: ConversationResult
    timing: dict[str, float]


def step(claim: Claim, request: ConversationSearch, ports: ConversationPorts) -> Sequence[Bell]:
    """Search, finish the step and settle the job."""
    laps = Laps(ports)
    generation = ports.conversations.generation(request.collection)
    question = question_of(request, request.now or datetime.now(UTC), generation)
    recalled = recall(question, ports)
    laps.lap("recall")
    near = find_near(claim, question, recalled, ports)
    if near.asked:
        laps.lap("vectors")
    ranking = rank_candidates(question, recalled, ports)
    if near.sessions:
        ranking = join_near(question, recalled, ranking, near.sessions, ports)
    ranking = order_by_time(question, recalled, ranking)
    laps.lap("rank")
    hits = show_hits(question, recalled, ranking, ports.conversations)
    reason = None if request.why_not is None else explain_absence(question, request.why_not, recalled, ranking, ports)
    laps.lap("show")
    degraded = (*(() if recalled.relaxed is None else (RELAXED,)), *near.gaps)
    result = ConversationResult(
        job_id=claim.job_id,
        query=request.query,
        collection=request.collection,
        scoring=request.scoring,
        results=tuple(hits),
        total=len(ranking),
        complete=not degraded,
        degraded=degraded,
        understanding=recalled.understanding,
        why_not=reason,
        usage=near.usage.noted(),
    )
    notes = SearchNotes(found=result, timing=laps.ms)
    outcome = Outcome(notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts)
    one_step.close(claim, outcome, request, ENDING, ports)
    return []


def conclude(picture: Picture, request: ConversationSearch, ports: Common) -> None:
    """Settle the job with its result, or with the reason why the search failed."""
    one_step.conclude(picture, request, ENDING, ports)


def to_result(_: ConversationSearch, picture: Picture, notes: SearchNotes) -> ConversationResult:
    """Add the state and timing of the step to the result that it noted."""
    took = timing(picture) | {f"{name}_ms": ms for name, ms in notes.timing.items()}
    stages = tuple(stage(search) for search in picture.steps)
    return notes.found.model_copy(update={"stages": stages, "timing": took})


#: How a search ends.
ENDING: Final = Ending(SearchNotes, to_result)
