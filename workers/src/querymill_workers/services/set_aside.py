"""The `list_set_aside` kind: list the texts that a provider refused."""

import json
from typing import Final, NamedTuple

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.set_aside import ListSetAside, RefusedText, SetAsideResult
from querymill_workers.jobs.faults import Mistaken
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.services.ports import SetAsidePorts
from querymill_workers.vectors.ports import RefusedKey


class SetAsideListNotes(Notes):
    """What the step found: some texts, the cursor behind them, and how many there are."""

    texts: tuple[RefusedText, ...]
    cursor: str | None
    total: int


class Cursor(NamedTuple):
    """The last refused text of a page: its retriever, document and passage, and who refused it."""

    of: str
    document: str
    passage: str
    model: str


def step(claim: Claim, request: ListSetAside, ports: SetAsidePorts) -> None:
    """List some texts and count all.

    Raises:
        Mistaken: ``after`` is no cursor.
    """
    collection, after = request.collection, cursor_of(request.after)
    texts, total = list[RefusedText](), 0
    for kind, vectors in sorted(ports.vectors.items()):
        if request.of not in (None, kind):
            continue
        total += vectors.count_refused(collection)
        limit = request.limit - len(texts)
        if limit and (after is None or kind >= after.of):
            behind = RefusedKey(*after[1:]) if after is not None and kind == after.of else None
            texts += [
                RefusedText(
                    of=kind,
                    document=refused.key.document,
                    passage=refused.key.key,
                    model=refused.key.model,
                    reason=refused.reason,
                    at=refused.at,
                )
                for refused in vectors.refused(collection, limit=limit, after=behind)
            ]
    cursor = None
    if len(texts) == request.limit:
        cursor = json.dumps(Cursor(texts[-1].of, texts[-1].document, texts[-1].passage, texts[-1].model))
    hand_in(claim, request, SetAsideListNotes(texts=tuple(texts), cursor=cursor, total=total), ENDING, ports)


def cursor_of(given: str | None) -> Cursor | None:
    """Read a cursor.

    Raises:
        Mistaken: It is none.
    """
    if given is None:
        return None
    try:
        return Cursor(*map(str, json.loads(given)))
    except (TypeError, ValueError):
        raise Mistaken("after: must be the cursor of an earlier result") from None


def to_result(request: ListSetAside, picture: Picture, notes: SetAsideListNotes) -> SetAsideResult:
    """Build the result."""
    return SetAsideResult(
        job_id=picture.record.job_id,
        collection=request.collection,
        total=notes.total,
        complete=True,
        texts=notes.texts,
        cursor=notes.cursor,
    )


ENDING: Final = Ending(SetAsideListNotes, to_result)
