"""Search conversations: take a question, and return the sessions in which its subject was discussed.

    question -> understand (time, filler, spelling, synonyms) -> candidates by BM25 ┐  cached for an hour
             -> rank parts of the sessions ────────────────────────────────────────┤  cached for a day
             -> final score as of now -> diversify -> best passages -> hits <───────┘

A search is one step. Only results that depend on neither the time nor the caller are cached. Every key begins with
the collection and its generation, and each search reads the generation first, so nothing cached outlives a change.

``understanding.py`` reads the question, ``ranking.py`` scores the candidates, ``showing.py`` builds the hits, and
``why_not.py`` explains an absence. The formulas are in ``rules/``.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from querymill_shared.board import Claim, Outcome, Picture
from querymill_shared.contracts.conversations.search import (
    ConversationResult,
    ConversationSearch,
    SearchMode,
)
from querymill_workers.jobs import one_step
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending
from querymill_workers.jobs.ports import Common
from querymill_workers.jobs.stages import Laps, stage, timing
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.caches import CachedSearch
from querymill_workers.retrievers.conversations.ports.sessions import SPACE
from querymill_workers.retrievers.conversations.ranking import rank_candidates
from querymill_workers.retrievers.conversations.rules.synonyms import weighted
from querymill_workers.retrievers.conversations.rules.text import searchable
from querymill_workers.retrievers.conversations.showing import show_hits
from querymill_workers.retrievers.conversations.understanding import Question, question_of, sessions_in_time, understand
from querymill_workers.retrievers.conversations.why_not import explain_absence

#: How many sessions BM25 passes to ranking.
CANDIDATES: Final[Mapping[SearchMode, int]] = {"normal": 50, "deep": 100}


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
    ranking = rank_candidates(question, recalled, ports)
    laps.lap("rank")
    hits = show_hits(question, recalled, ranking, ports.conversations)
    reason = None if request.why_not is None else explain_absence(question, request.why_not, recalled, ranking, ports)
    laps.lap("show")
    result = ConversationResult(
        job_id=claim.job_id,
        query=request.query,
        collection=request.collection,
        scoring=request.scoring,
        results=tuple(hits),
        total=len(ranking),
        complete=True,
        understanding=recalled.understanding,
        why_not=reason,
        usage=Usage().noted(),
    )
    notes = SearchNotes(found=result, timing=laps.ms)
    picture = ports.board.finish(claim, Outcome(notes=notes.for_board(), ms=laps.total_ms))
    if picture is not None:
        conclude(picture, request, ports)
    return []


def conclude(picture: Picture, request: ConversationSearch, ports: Common) -> None:
    """Settle the job with its result, or with the reason why the search failed."""
    one_step.conclude(picture, request, ENDING, ports)


def recall(question: Question, ports: ConversationPorts) -> CachedSearch:
    """Understand the question and find its candidates, or take them from the cache.

    Raises:
        Refused: Another version of the tokeniser built the collection's text index.
    """
    cached = ports.conversation_caches.searches.get(question.key)
    if cached is not None:
        return cached
    understanding = understand(question, ports)
    synonyms = [word for expansion in understanding.synonyms for word in expansion.synonyms]
    text = searchable([weighted(understanding.searched, synonyms)])
    let_through = sessions_in_time(question, ports.conversations)
    limit = CANDIDATES[understanding.mode]
    hits = ports.words.search(question.request.collection, SPACE, text, limit=limit, groups=let_through)
    recalled = CachedSearch(understanding, text, tuple(hits))
    ports.conversation_caches.searches.put(question.key, recalled)
    return recalled


def to_result(_: ConversationSearch, picture: Picture, notes: SearchNotes) -> ConversationResult:
    """Add the state and timing of the step to the result that it noted."""
    took = timing(picture) | {f"{name}_ms": ms for name, ms in notes.timing.items()}
    stages = tuple(stage(search) for search in picture.steps)
    return notes.found.model_copy(update={"stages": stages, "timing": took})


#: How a search ends.
ENDING: Final = Ending(SearchNotes, to_result)
