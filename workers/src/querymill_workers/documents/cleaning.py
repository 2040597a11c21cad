"""Delete what the board and the caches hold of forgotten documents. How writes ended stays, without texts and ids."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from pydantic_core import from_json

from querymill_shared.board import Board, Claim
from querymill_shared.board.erasure import Kept, ListedJob, Scrubbed
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.contracts.errors import UnknownJob, UnreadableJob
from querymill_shared.contracts.jobs import JobRequest
from querymill_workers.documents.affected_jobs import READING, UNNAMED, Forgotten
from querymill_workers.documents.ports import CleaningPorts
from querymill_workers.documents.texts import EMBED, OPEN

#: Jobs whose results are read at once: some are long.
AT_ONCE: Final = 20


def clean(claim: Claim, forgotten: Forgotten, ports: CleaningPorts) -> None:
    """Delete what the board and the fleet's caches still hold of what was forgotten."""
    clean_board(claim, forgotten, ports.board)
    ports.fleet_caches.erase(claim.request.collection)


def clean_board(claim: Claim, forgotten: Forgotten, board: Board) -> None:
    """Delete what the jobs of the collection hold of forgotten documents.

    - A write that is done stays, without what it asked and without the ids of forgotten documents.
    - A search, list or export goes only if its result names a forgotten document. What was asked is its caller's own.
    - An answer or a ranking goes: it can hold a text without naming its document.
    - A write that was not done goes with its texts, unless it holds those of others, too: it is left with these.
    - What has not ended goes on, and is treated so at its end.
    """
    found = [
        job
        for job in board.jobs_of(claim.request.collection)
        if job.job_id != claim.job_id and forgotten.may_be_in(job.kind)
    ]
    gone = [job.job_id for job in found if job.kind in UNNAMED]
    ended = [job for job in found if job.kind not in UNNAMED and job.state not in OPEN]
    for job in found:
        if job.kind not in UNNAMED and job.state in OPEN:
            if _goes_when_it_ends(job, claim, forgotten, board):
                gone.append(job.job_id)
            elif board.has_ended(job.job_id):
                ended.append(job)
    gone += _clean_ended(ended, claim, forgotten, board)
    board.erase_jobs(gone)


def _clean_ended(jobs: Iterable[ListedJob], claim: Claim, forgotten: Forgotten, board: Board) -> list[str]:
    """Leave of jobs that have ended what may stay. Return the ids of those that go."""
    gone, scrubbed = list[str](), list[Scrubbed]()
    for some in _some(jobs):
        kept = board.kept_of([job.job_id for job in some])
        for job in some:
            if _goes(job, kept[job.job_id], claim, forgotten, board):
                gone.append(job.job_id)
            elif (left := _left_of(job, kept[job.job_id], forgotten)) is not None:
                scrubbed.append(left)
    board.scrub_jobs(scrubbed)
    return gone


def _some(jobs: Iterable[ListedJob]) -> Iterator[list[ListedJob]]:
    left = iter(jobs)
    while some := list(islice(left, AT_ONCE)):
        yield some


def _goes_when_it_ends(job: ListedJob, claim: Claim, forgotten: Forgotten, board: Board) -> bool:
    """Note of a job that has not ended what was forgotten. Return True if all of it must go once it has."""
    if job.kind in READING:
        ids = forgotten.ids_if_few
        if ids is not None:
            board.mark_forgotten(job.job_id, ids, is_write=False)
        return ids is None
    request = _write_of(job.job_id, claim, forgotten, board)
    if request is None:
        return False
    trimmed = forgotten.without(request)
    if trimmed is not None:
        board.trim_job(job.job_id, trimmed)
    if isinstance(request, EmbedTexts) and request.into == "result":
        return True  # its result is made of the texts
    is_marked = board.mark_forgotten(job.job_id, forgotten.ids_in(request), is_write=True)
    return trimmed is None and is_marked


def _goes(job: ListedJob, kept: Kept, claim: Claim, forgotten: Forgotten, board: Board) -> bool:
    """Whether all of a job that has ended must go. A write that holds texts of others too is left with these."""
    if job.kind in READING:
        return forgotten.is_told_by(kept)
    if job.kind == EMBED:
        return not kept.result or bool(from_json(kept.result).get("vectors"))
    if kept.result:
        return False
    request = _write_of(job.job_id, claim, forgotten, board)
    trimmed = None if request is None else forgotten.without(request)
    return request is not None and (trimmed is None or not board.trim_job(job.job_id, trimmed))


def _left_of(job: ListedJob, kept: Kept, forgotten: Forgotten) -> Scrubbed | None:
    """Return what is to be left of a job that stays, or None if it holds nothing that was forgotten."""
    if not kept.result:
        return None
    if job.kind in READING:
        return Scrubbed(job.job_id, is_write=False) if forgotten.may_be_told_in(kept.rest) else None
    outcome = forgotten.outcome_in(kept.result)
    return None if outcome is None else Scrubbed(job.job_id, is_write=True, result=outcome)


def _write_of(job_id: str, claim: Claim, forgotten: Forgotten, board: Board) -> JobRequest | None:
    """Return what a write asks that was accepted before a drop and holds forgotten documents, else None."""
    try:
        picture = board.picture(job_id)
    except (UnknownJob, UnreadableJob):
        return None  # what another release wrote is told by `versions` as well
    if picture.request is None or picture.record.created > claim.submitted or not forgotten.is_in(picture.request):
        return None
    return picture.request
