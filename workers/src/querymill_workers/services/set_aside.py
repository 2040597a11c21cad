"""The `list_set_aside` kind: list the texts that a provider refused."""

import json
from collections.abc import Sequence
from typing import Final, get_args

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.set_aside import ListSetAside, RefusedText, SetAsideResult
from querymill_workers.jobs.faults import Mistaken
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.services.ports import SetAsidePorts
from querymill_workers.set_aside.ports import AsideEntry, AsideKey
from querymill_workers.vectors.ports import RefusedKey, Vectors


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
    collection, after = request.collection, key_of(request.after)
    entries, total = list[AsideEntry](), 0
    for kind in sorted(get_args(Retriever)) if request.of is None else (request.of,):
        total += count(collection, kind, ports)
        limit = request.limit - len(entries)
        if limit and (after is None or kind >= after.kind):
            behind = after if after is not None and kind == after.kind else None
            entries += entries_of(collection, kind, ports, limit=limit, after=behind)
    notes = ListNotes(
        texts=tuple(map(listed, entries)),
        cursor=json.dumps(entries[-1].key) if len(entries) == request.limit else None,
        total=total,
    )
    hand_in(claim, request, notes, ENDING, ports)


def count(collection: str, kind: str, ports: SetAsidePorts) -> int:
    """Count the refused texts of a retriever."""
    vectors = vectors_of(kind, ports)
    return ports.set_aside.counts(collection).get(kind, 0) if vectors is None else vectors.count_refused(collection)


def entries_of(
    collection: str, kind: str, ports: SetAsidePorts, *, limit: int, after: AsideKey | None
) -> Sequence[AsideEntry]:
    """List refused texts of a retriever, in the order of their keys, behind one."""
    vectors = vectors_of(kind, ports)
    if vectors is None:
        return ports.set_aside.texts(collection, kind=kind, limit=limit, after=after)
    behind = None if after is None else RefusedKey(*after[1:])
    return [
        AsideEntry(AsideKey(kind, *refused.key), refused.reason, refused.at)
        for refused in vectors.refused(collection, limit=limit, after=behind)
    ]


def vectors_of(kind: str, ports: SetAsidePorts) -> Vectors | None:
    """Return the vectors of a retriever, or None if its refused texts are set aside beside them."""
    return next((vectors for vectors in ports.vectors.values() if vectors.retriever == kind), None)


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
