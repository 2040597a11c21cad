"""`conversations`: a question in, the sessions in which it was talked about out.

    question -> understand (when, filler, spelling, synonyms) -> candidates by BM25 ┐  kept for an hour
             -> sessions' rank parts ──────────────────────────────────────────────┤  kept for a day
             -> final score as of now -> diversify -> best passages -> hits <───────┘

A search is one step. Kept is only what does not depend on the time or on who asks; every key begins with the
collection and its generation, which is read anew for each search. Rules and formulas: ``domain/times.py``,
``query_understanding.py``, ``spelling.py``, ``synonyms.py``, ``conversation_scores.py``, ``diversification.py``,
``best_passage.py``.
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

#: How many sessions BM25 hands on to ranking.
CANDIDATES: Final[Mapping[SearchMode, int]] = {"normal": 50, "deep": 100}


class SearchNotes(Notes):
    """The result as far as the step knows it, and how long each phase of the step took, in milliseconds."""

    found: ConversationResult
    timing: dict[str, float]


def step(claim: Claim, request: ConversationSearch, ports: ConversationPorts) -> Sequence[Bell]:
    """Search, and hand the hits in."""
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
    """Settle with what the search found, or with the reason why it could not."""
    one_step.conclude(picture, request, ENDING, ports)


def recall(question: Question, ports: ConversationPorts) -> CachedSearch:
    """Understand the question and find its candidates, or remember them.

    Raises:
        Refused: The words were made by another tokeniser.
    """
    cached = ports.conversation_caches.searches.get(question.key)
    if cached is not None:
        return cached
    understanding = understand(question, ports)
    synonyms = [word for expansion in understanding.synonyms for word in expansion.synonyms]
    text = searchable([weighted(understanding.searched, synonyms)])
    let_through = sessions_in_time(question, ports.conversations)
    most = CANDIDATES[understanding.mode]
    hits = ports.words.search(question.request.collection, SPACE, text, most=most, groups=let_through)
    found = CachedSearch(understanding, text, tuple(hits))
    ports.conversation_caches.searches.put(question.key, found)
    return found


def to_result(_: ConversationSearch, picture: Picture, notes: SearchNotes) -> ConversationResult:
    """Add to the result that the step noted how the step went."""
    took = timing(picture) | {f"{name}_ms": ms for name, ms in notes.timing.items()}
    stages = tuple(stage(search) for search in picture.steps)
    return notes.found.model_copy(update={"stages": stages, "timing": took})


#: How a search ends.
ENDING: Final = Ending(SearchNotes, to_result)
