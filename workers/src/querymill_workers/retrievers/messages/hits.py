"""What a search of messages found: as its step notes it on the board, and as the result shows it."""

from typing import Final, Literal

from querymill_shared.board import Picture
from querymill_shared.contracts.messages.search import PRESETS, MessageHit, MessageResult, MessageSearch, Mode
from querymill_shared.contracts.results import Degradation
from querymill_workers.jobs.notes import Notes, StepNotes
from querymill_workers.jobs.one_step import Ending
from querymill_workers.jobs.stages import stage, timing, used
from querymill_workers.retrievers.messages.matches import SIMILARITY_PLACES, Gap, Match, MessageMatches
from querymill_workers.text.calibration import band


class MessageFindings(Notes):
    """The hits and the counts of a search, as in `MessageResult`.

    ``compared`` tells whether any row had a vector to compare. ``degraded`` names the missing parts.
    """

    mode: Mode
    results: tuple[MessageHit, ...]
    total: int
    total_is_exact: bool
    why: str | None = None
    searched: Literal["exact", "approximate"] | None = None
    best_below_threshold: float | None = None
    skipped: int = 0
    compared: bool = True
    degraded: tuple[Gap, ...] = ()


class SearchNotes(StepNotes):
    """What the step of a search notes."""

    found: MessageFindings


def findings_of(matches: MessageMatches, request: MessageSearch) -> MessageFindings:
    """Turn matches into hits, and keep the counts of the search."""
    return MessageFindings(
        mode=matches.mode,
        results=tuple(hit_of(match, request) for match in matches.best),
        total=matches.total,
        total_is_exact=matches.total_is_exact,
        why=matches.why,
        searched=matches.searched,
        best_below_threshold=matches.best_below_threshold,
        skipped=matches.skipped,
        compared=matches.compared,
        degraded=matches.gaps,
    )


def hit_of(match: Match, request: MessageSearch) -> MessageHit:
    """Turn a match into a hit. A hit must be used if its vector is as similar as the preset asks for."""
    row = match.row
    must_use = PRESETS[request.preset].must_use if request.preset else None
    return MessageHit(
        vector_id=row.vector_id,
        message_id=row.message_id,
        session_id=row.session_id,
        content=row.content,
        vector_type=row.vector_type,
        similarity=match.similarity,
        created_at=row.created_at,
        session_name=row.session_name,
        user_name=row.user_name,
        message_role=row.message_role,
        raw_similarity=None if row.raw is None else round(row.raw, SIMILARITY_PLACES),
        band=band(match.similarity),
        score=match.score,
        found_by=match.found_by,
        must_use=must_use is not None and row.raw is not None and match.similarity >= must_use,
        explanation=match.explanation,
    )


def to_result(request: MessageSearch, picture: Picture, notes: SearchNotes) -> MessageResult:
    """Make the result of a search from what its step noted."""
    found = notes.found
    degraded = tuple(Degradation(stage=gap.stage, reason=gap.reason) for gap in found.degraded)
    return MessageResult(
        job_id=picture.record.job_id,
        query=request.query,
        collection=request.collection,
        session_id=request.session_id,
        similarity_threshold=request.similarity_threshold,
        complete=not degraded,
        degraded=degraded,
        stages=tuple(stage(step) for step in picture.steps),
        timing=timing(picture) | {f"{name}_ms": ms for name, ms in notes.timing.items()},
        usage=used(picture),
        **found.model_dump(exclude={"degraded", "compared"}),
    )


ENDING: Final = Ending(SearchNotes, to_result)
