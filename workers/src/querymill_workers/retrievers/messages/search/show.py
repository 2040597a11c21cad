"""Show what was found: the first hits by words, the hits with whole rows, and the result."""

from dataclasses import replace
from typing import Final, Literal

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.events import TOLD_CHARS, TOLD_TEXTS, Hits, PartialHit
from querymill_shared.contracts.messages.search import PRESETS, MessageHit, MessageResult, MessageSearch, Mode
from querymill_shared.contracts.results import Degradation
from querymill_shared.contracts.sessions import place_in_file
from querymill_shared.contracts.why_not import Absence
from querymill_workers.jobs.in_chat import context_of, texts_of, use_of
from querymill_workers.jobs.notes import Notes, StepNotes
from querymill_workers.jobs.one_step import Ending
from querymill_workers.jobs.stages import stage, timing, used
from querymill_workers.retrievers.messages.ports import MessagePorts
from querymill_workers.retrievers.messages.search.matches import (
    SIMILARITY_PLACES,
    Gap,
    MessageMatch,
    MessageMatches,
    passage_of,
)
from querymill_workers.retrievers.messages.search.understand import MessageQuestion
from querymill_workers.text.calibration import band

#: What the first hits on the board were found by, before the vector was there.
WORDS: Final = "words"


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
    uncalibrated: bool = False
    degraded: tuple[Degradation, ...] = ()


class MessageSearchNotes(StepNotes):
    """What the step of a search notes."""

    found: MessageFindings
    why_not: Absence | None = None


def tell_first_hits(claim: Claim, matches: MessageMatches, ports: MessagePorts) -> None:
    """Put the hits by words on the board while the question is embedded."""
    if matches.best:
        hits = tuple(
            PartialHit(
                key=match.row.vector_id, score=match.score,
                text=match.row.content[:TOLD_CHARS] if place < TOLD_TEXTS else None,
            )
            for place, match in enumerate(matches.best)
        )  # fmt: skip
        ports.board.append_event(claim.job_id, Hits(after_stage=WORDS, total=matches.total, hits=hits))


def with_whole_rows(matches: MessageMatches, asked: MessageQuestion, ports: MessagePorts) -> MessageMatches:
    """Return matches with whole rows: hundreds of brief rows are ranked, and only those of the hits are read."""
    question, ids = matches.question, [match.row.vector_id for match in matches.best]
    if question is None or not asked.joins_neighbours or not ids:
        return matches
    rows = ports.messages.rows(asked.where, ids, question.vector, model=question.model)
    best = [
        replace(match, row=row, explanation=match.explanation | passage_of(row))
        for match in matches.best
        if (row := rows.get(match.row.vector_id)) is not None
    ]
    return replace(matches, best=best)


def findings_of(matches: MessageMatches, request: MessageSearch) -> MessageFindings:
    """Turn matches into hits, and keep the counts of the search."""
    gaps = (*matches.gaps, *waiting(matches))
    return MessageFindings(
        mode=matches.mode,
        results=tuple(hit_of(match, request, uncalibrated=matches.uncalibrated) for match in matches.best),
        total=matches.total,
        total_is_exact=matches.total_is_exact,
        why=matches.why,
        searched=matches.searched,
        best_below_threshold=matches.best_below_threshold,
        skipped=matches.skipped,
        compared=matches.compared,
        uncalibrated=matches.uncalibrated,
        degraded=tuple(Degradation(stage=gap.stage, reason=gap.reason, code=gap.code) for gap in gaps),
    )


def waiting(matches: MessageMatches) -> tuple[Gap, ...]:
    """Say how many rows wait for a vector, so that only their words could be compared."""
    if not matches.pending or not matches.compared:
        return ()
    return (Gap("embed", f"{matches.pending} row{'s' if matches.pending > 1 else ''} pending", "pending"),)


def hit_of(match: MessageMatch, request: MessageSearch, *, uncalibrated: bool = False) -> MessageHit:
    """Turn a match into a hit. A hit must be used if its vector is as similar as the preset asks for."""
    row = match.row
    source, line = place_in_file(row.metadata)
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
        band="uncalibrated" if uncalibrated and row.raw is not None else band(match.similarity),
        score=match.score,
        found_by=match.found_by,
        must_use=must_use is not None and row.raw is not None and match.similarity >= must_use,
        explanation=match.explanation,
        metadata=dict(row.metadata) if request.shows_metadata else None,
        message_number=None if row.place is None else row.place + 1,
        source=source,
        line=line,
    )


def to_result(request: MessageSearch, picture: Picture, notes: MessageSearchNotes) -> MessageResult:
    """Make the result of a search from what its step noted."""
    found, asked = notes.found, context_of(request)
    return MessageResult(
        job_id=picture.record.job_id,
        query=request.query,
        collection=request.collection,
        session_id=request.session_id,
        similarity_threshold=request.similarity_threshold,
        complete=not found.degraded,
        stages=tuple(stage(step) for step in picture.steps),
        timing=timing(picture) | {f"{name}_ms": ms for name, ms in notes.timing.items()},
        usage=used(picture),
        why_not=notes.why_not,
        expansion_texts=texts_of(asked),
        history=use_of(request),
        **found.model_dump(exclude={"compared"}),
    )


ENDING: Final = Ending(MessageSearchNotes, to_result)
