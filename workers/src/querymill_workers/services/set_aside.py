"""The `list_set_aside` kind: list the texts that a provider refused."""

import json
from typing import Final

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.set_aside import ListSetAside, RefusedText, SetAsideResult
from querymill_workers.jobs.faults import Mistaken
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.services.ports import SetAsidePorts
from querymill_workers.set_aside.ports import AsideEntry, AsideKey


class ListNotes(Notes):
    """What the step found: some texts, the cursor behind them, and how many there are."""

    texts: tuple[RefusedText, ...]
    cursor: str | None
    total: int


def step(claim: Claim, request: ListSetAside, ports: SetAsidePorts) -> None:
    """List some texts and count all.

    Raises:
        Mistaken: ``after`` is no cursor.
    """
    counts = ports.set_aside.counts(request.collection)
    entries = ports.set_aside.texts(
        request.collection, kind=request.of, limit=request.limit, after=key_of(request.after)
    )
    notes = ListNotes(
        texts=tuple(map(listed, entries)),
        cursor=json.dumps(entries[-1].key) if len(entries) == request.limit else None,
        total=sum(counts.values()) if request.of is None else counts.get(request.of, 0),
    )
    hand_in(claim, request, notes, ENDING, ports)


def key_of(cursor: str | None) -> AsideKey | None:
    """Read a cursor.

    Raises:
        Mistaken: It is none.
    """
    if cursor is None:
        return None
    try:
        return AsideKey(*map(str, json.loads(cursor)))
    except (TypeError, ValueError):
        raise Mistaken("after: must be the cursor of an earlier result") from None


def listed(entry: AsideEntry) -> RefusedText:
    """Show an entry."""
    key = entry.key
    return RefusedText(
        of=key.kind, document=key.document, passage=key.passage, model=key.model, reason=entry.reason, at=entry.at
    )


def to_result(request: ListSetAside, picture: Picture, notes: ListNotes) -> SetAsideResult:
    """Build the result."""
    return SetAsideResult(
        job_id=picture.record.job_id,
        collection=request.collection,
        total=notes.total,
        complete=True,
        texts=notes.texts,
        cursor=notes.cursor,
    )


ENDING: Final = Ending(ListNotes, to_result)
