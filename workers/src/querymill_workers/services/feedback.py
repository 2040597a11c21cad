"""The `feedback` and `list_feedback` kinds: keep what people say of hits, and list it."""

import json
from typing import Final

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.feedback import (
    FeedbackList,
    FeedbackResult,
    GiveFeedback,
    KeptJudgement,
    ListFeedback,
)
from querymill_workers.jobs.faults import Mistaken
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.services.ports import FeedbackPorts, JudgementKey
from querymill_workers.versions.ports import WrittenDocument, version_of


class KeptNotes(Notes):
    """How many judgements are kept."""

    kept: int


class FeedbackListNotes(Notes):
    """A page of judgements, the cursor behind them, and how many there are."""

    judgements: tuple[KeptJudgement, ...]
    cursor: str | None
    total: int


def keep(claim: Claim, request: GiveFeedback, ports: FeedbackPorts) -> None:
    """Keep the judgements, except those of documents that were deleted since the job was accepted."""
    documents = dict.fromkeys(judgement.document for judgement in request.judgements)
    subjects = [WrittenDocument(document) for document in documents]
    with ports.versions.changing(request.collection, request.of, subjects, version_of(claim), whole=False) as standings:
        kept = [judged for judged in request.judgements if not standings[judged.document].forgotten]
        ports.judgements.keep(request, kept)
    hand_in(claim, request, KeptNotes(kept=len(kept)), KEPT, ports)


def list_page(claim: Claim, request: ListFeedback, ports: FeedbackPorts) -> None:
    """List some judgements and count all.

    Raises:
        Mistaken: ``after`` is no cursor.
    """
    collection, of = request.collection, request.of
    page = ports.judgements.list(collection, of, limit=request.limit, after=cursor_of(request.after))
    cursor = json.dumps([page[-1].job, page[-1].hit]) if len(page) == request.limit else None
    notes = FeedbackListNotes(judgements=tuple(page), cursor=cursor, total=ports.judgements.count(collection, of))
    hand_in(claim, request, notes, LISTED, ports)


def cursor_of(given: str | None) -> JudgementKey | None:
    """Read a cursor.

    Raises:
        Mistaken: It is none.
    """
    if given is None:
        return None
    try:
        return JudgementKey(*map(str, json.loads(given)))
    except (TypeError, ValueError):
        raise Mistaken("after: must be the cursor of an earlier result") from None


def to_result(request: GiveFeedback, picture: Picture, notes: KeptNotes) -> FeedbackResult:
    """Build the result of keeping."""
    return FeedbackResult(job_id=picture.record.job_id, collection=request.collection, total=notes.kept, complete=True)


def to_list(request: ListFeedback, picture: Picture, notes: FeedbackListNotes) -> FeedbackList:
    """Build a page."""
    return FeedbackList(
        job_id=picture.record.job_id,
        of=request.of,
        collection=request.collection,
        total=notes.total,
        complete=True,
        judgements=notes.judgements,
        cursor=notes.cursor,
    )


KEPT: Final = Ending(KeptNotes, to_result)
LISTED: Final = Ending(FeedbackListNotes, to_list)
