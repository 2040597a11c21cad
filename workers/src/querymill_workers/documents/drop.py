"""Drop documents for good: tombstones first, then rows, then what the board and the caches still hold.

If a worker dies, the next attempt drops what is left. Each part does nothing where it is done already.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.documents import DropDocuments, DropResult
from querymill_shared.contracts.events import Progress
from querymill_shared.values import value
from querymill_workers.documents.affected_jobs import Forgotten
from querymill_workers.documents.cleaning import clean
from querymill_workers.documents.late_writes import drop_document
from querymill_workers.documents.ports import DocumentPorts, Documents
from querymill_workers.documents.texts import ForgottenTexts, forgotten_texts
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in
from querymill_workers.versions.ports import WrittenDocument, version_of

#: Documents between two reports of progress.
BATCH: Final = 100
#: Documents that are dropped in one transaction, if all are to go.
TOGETHER: Final = 20


class DropNotes(Notes):
    """How many documents were dropped."""

    documents: int


def step(claim: Claim, request: DropDocuments, ports: DocumentPorts) -> None:
    """Drop the documents that the request means."""
    stored, collection = ports.documents[request.retriever], request.collection
    if request.filter or request.everything:
        # Before any row: a later write of an older version is refused by it.
        ports.versions.leave_filter_tombstone(
            collection, request.retriever, version_of(claim), conditions=request.filter, documents=request.ids
        )
    texts = forgotten_texts(claim, ports)
    documents = _dropped_before(claim, ports)
    total = documents + (len(request.ids) or stored.count(collection, request.filter))
    gone = set(request.ids)
    for batch in _batches(stored, request):
        gone.update(() if request.everything else batch.ids)
        documents += _drop(batch, stored, request, texts, ports)
        if not ports.board.append_event(claim.job_id, Progress(stage=claim.step, done=documents, total=total)):
            return  # cancelled: what is dropped is dropped
    if request.everything:
        drop_empty_collection(stored, texts, ports)
    knows_ids = claim.attempt == 1 or not request.filter
    forgotten = Forgotten(
        request.retriever,
        gone,
        request.filter,
        everything=request.everything,
        texts=texts,
        knows_ids=knows_ids,
        entry_of=ports.bodies[request.retriever].entry_of,
    )
    clean(claim, forgotten, ports)
    if request.filter or request.everything:
        ports.samples.renew()
    else:
        # It reads a part of every table, and there may be many jobs of one document.
        ports.samples.renew_soon()
    hand_in(claim, request, DropNotes(documents=documents), ENDING, ports)


def _dropped_before(claim: Claim, ports: DocumentPorts) -> int:
    """Return how many documents former attempts have told that they dropped."""
    told = [event.done for _, event in ports.board.events(claim.job_id) if isinstance(event, Progress)]
    return max(told, default=0)


@value
class _Batch:
    """Ids of documents, listed after another."""

    ids: Sequence[str]
    after: str | None = None


def _batches(stored: Documents, request: DropDocuments) -> Iterator[_Batch]:
    """Yield the ids of the documents that the request means, some at a time."""
    if request.ids and not request.filter:
        yield from (_Batch(request.ids[start : start + BATCH]) for start in range(0, len(request.ids), BATCH))
        return
    after: str | None = None
    while cards := stored.list(request.collection, request.filter, limit=BATCH, after=after):
        yield _Batch([card.id for card in cards if not request.ids or card.id in request.ids], after)
        after = cards[-1].id


def _drop(batch: _Batch, stored: Documents, request: DropDocuments, texts: ForgottenTexts, ports: DocumentPorts) -> int:
    """Drop what was accepted of documents before the request. Return of how many there was something to drop."""
    collection, kind, version, dropped = request.collection, request.retriever, texts.version, 0
    if request.ids and not request.filter:
        for document in batch.ids:
            with ports.versions.dropping(collection, kind, document, version) as standing:
                if standing.reaches_known:
                    dropped += drop_document(collection, document, version, kind, ports, texts) > 0
    else:
        after = batch.after
        for start in range(0, len(batch.ids), TOGETHER):
            ids = batch.ids[start : start + TOGETHER]
            dropped += _drop_listed(_Batch(ids, after), stored, request, texts, ports)
            after = ids[-1]
    return dropped


def _drop_listed(
    batch: _Batch, stored: Documents, request: DropDocuments, texts: ForgottenTexts, ports: DocumentPorts
) -> int:
    """Drop documents that were listed as passing the filter, in one change, as far as they pass it still.

    The tombstone of such a document has the version that passed, not that of the request. So a version in between that
    does not pass stands, even if it comes last.
    """
    collection, kind, version, dropped = request.collection, request.retriever, texts.version, 0
    subjects = [WrittenDocument(document) for document in batch.ids]
    with ports.versions.changing(collection, kind, subjects, version, whole=False) as standings:
        for document in _passing(batch, stored, request):
            standing = standings[document]
            if standing.reaches_known:
                dropped += drop_document(collection, document, version, kind, ports, texts) > 0
                if not request.everything:
                    # What only live messages made may get a whole session late: it belongs to what passed.
                    ports.versions.leave_tombstone(
                        collection, kind, document, written=standing.known or version, parts=version
                    )
    return dropped


def _passing(batch: _Batch, stored: Documents, request: DropDocuments) -> Sequence[str]:
    """Return the documents of a batch that pass the filter, now that nobody else changes them."""
    passing, after, last = set[str](), batch.after, batch.ids[-1]
    while cards := stored.list(request.collection, request.filter, limit=BATCH, after=after):
        passing.update(card.id for card in cards)
        after = cards[-1].id
        if after >= last:
            break
    return [document for document in batch.ids if document in passing]


def drop_empty_collection(stored: Documents, texts: ForgottenTexts, ports: DocumentPorts) -> None:
    """Have an empty collection listed no more."""
    collection = texts.collection
    with ports.versions.alone(collection, stored.kind):
        # Else a document that is stored after the look whether there is one would lose its words.
        if not stored.count(collection, {}):
            ports.bodies[stored.kind].drop_remains(collection)
            ports.judgements.drop_all(collection, stored.kind)
            vectors = ports.vectors[stored.kind]
            model = vectors.active_model(collection)
            vectors.drop_model(collection)
            if model is not None:
                vectors.drop_index(collection, model=model)
    if not any(documents.count(collection, {}) for documents in ports.documents.values()):
        # Vectors of texts belong to no retriever: they go with the last of a collection.
        texts.leave_tombstone_of_all()
        ports.text_vectors.drop_all(collection)
    ports.board.remove_collections(stored.kind, [collection])
    if stored.count(collection, {}):
        # Something was stored in between. Whoever stores later announces the collection later than this.
        ports.board.add_collections(stored.kind, [collection])


def to_result(request: DropDocuments, picture: Picture, notes: DropNotes) -> DropResult:
    """Build the result."""
    return DropResult(
        job_id=picture.record.job_id,
        retriever=request.retriever,
        collection=request.collection,
        outcome="forgotten" if notes.documents else "absent",
        total=notes.documents,
        complete=True,
    )


ENDING: Final = Ending(DropNotes, to_result)
