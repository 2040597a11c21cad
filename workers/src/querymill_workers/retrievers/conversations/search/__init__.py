"""Search conversations: take a question, and return the sessions in which its subject was discussed.

    question -> understand (time, filler, spelling, synonyms) ┐ cached for an hour
             -> recall candidates by words, by BM25           ┘
             -> recall the nearest sessions by vectors
             -> score as of now (parts of ranks are cached for a day), join by rank, by time if asked
             -> choose, diversified if asked -> show with passages -> explain an absence

A search is one step. Only results that depend on neither the time nor the caller are cached. Every key begins with
the collection and its generation, and each search reads the generation first, so nothing cached outlives a change.

Each module is one stage, and takes what the stages before it return. The formulas are in ``rules/``.
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
from querymill_workers.jobs.in_chat import texts_of, use_of
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending
from querymill_workers.jobs.ports import Common
from querymill_workers.jobs.stages import Laps, stage, timing
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.search.choose import choose_hits, rank_sessions
from querymill_workers.retrievers.conversations.search.passages import find_passages
from querymill_workers.retrievers.conversations.search.recall import recall_candidates
from querymill_workers.retrievers.conversations.search.score import score_sessions
from querymill_workers.retrievers.conversations.search.show import show_hits
from querymill_workers.retrievers.conversations.search.understand import understand_question
from querymill_workers.retrievers.conversations.search.vector_recall import recall_by_vectors
from querymill_workers.retrievers.conversations.search.why_not import explain_absence

#: What the result says if sessions from other times are among its hits.
RELAXED: Final = Degradation(stage="time", reason="relaxed: few sessions are from then, so others follow below them")


class ConversationSearchNotes(Notes):
    """The result without the timing of the job, and how long each phase of the step took, in milliseconds."""

    found: ConversationResult
    timing: dict[str, float]


def step(claim: Claim, request: ConversationSearch, ports: ConversationPorts) -> Sequence[Bell]:
    """Search, finish the step and settle the job."""
    laps = Laps(ports)
    question = understand_question(request, request.now or datetime.now(UTC), ports)
    recalled = recall_candidates(question, ports)
    laps.lap("recall")
    near = recall_by_vectors(claim, question, recalled, ports)
    if near.asked:
        laps.lap("vectors")
    scored = score_sessions(question, recalled, near.sessions, ports)
    ranking = rank_sessions(question, recalled, scored, near.sessions, near.worth)
    chosen = choose_hits(question, ranking)
    laps.lap("rank")
    passages = find_passages(question, recalled, chosen, ports.conversations)
    hits = show_hits(request, chosen, passages)
    absence = explain_absence(question, recalled, ranking, chosen, ports)
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
        why_not=absence,
        usage=near.usage.noted(),
        expansion_texts=texts_of(question.before),
        history=use_of(request),
    )
    notes = ConversationSearchNotes(found=result, timing=laps.ms)
    outcome = Outcome(notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts)
    one_step.close(claim, outcome, request, ENDING, ports)
    return []


def conclude(picture: Picture, request: ConversationSearch, ports: Common) -> None:
    """Settle the job with its result, or with the reason why the search failed."""
    one_step.conclude(picture, request, ENDING, ports)


def to_result(_: ConversationSearch, picture: Picture, notes: ConversationSearchNotes) -> ConversationResult:
    """Add the state and timing of the step to the result that it noted."""
    took = timing(picture) | {f"{name}_ms": ms for name, ms in notes.timing.items()}
    stages = tuple(stage(search) for search in picture.steps)
    return notes.found.model_copy(update={"stages": stages, "timing": took})


#: How a search ends.
ENDING: Final = Ending(ConversationSearchNotes, to_result)
