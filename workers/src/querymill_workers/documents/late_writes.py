"""Drop what is stored of a document: its rows, what people said of it, and the vectors that callers had stored."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from querymill_shared.contracts.filters import Retriever
from querymill_workers.documents.ports import LateWritePorts
from querymill_workers.documents.texts import ForgottenTexts
from querymill_workers.versions.ports import Standing, Version


def drop_barred(collection: str, kind: Retriever, standings: Mapping[str, Standing], ports: LateWritePorts) -> None:
    """Drop the documents whose whole writes are barred, within the change of `versions`.

    For example, a document of team red is replaced by one of team blue, and then team blue is forgotten. If the second
    write comes last, it is not stored, but neither does the first stand: it was replaced when the filter was forgotten.
    """
    for document, standing in standings.items():
        if standing.barred_at is not None:
            drop_document(collection, document, standing.barred_at, kind, ports)


def drop_document(
    collection: str,
    document: str,
    version: Version,
    kind: Retriever,
    ports: LateWritePorts,
    texts: ForgottenTexts | None = None,
) -> int:
    """Drop what was accepted of a document up to a version, within a change of `versions`. Return how many rows.

    What people said of its hits goes too.
    """
    ports.judgements.drop(collection, kind, [document])
    with forgetting_vectors(collection, document, kind, ports, texts):
        return ports.bodies[kind].drop(collection, document, version)


@contextmanager
def forgetting_vectors(
    collection: str, document: str, kind: Retriever, ports: LateWritePorts, forgotten: ForgottenTexts | None = None
) -> Iterator[None]:
    """Drop the vectors of the texts that a document has before the block and not after it.

    An `embed` job stores vectors under ids that the caller chose. They belong to a document if they have its id, if the
    caller named it, or if they were made of the whole of one of its texts, such as a message or a page. A piece that a
    caller cut is known by its hash alone, which tells nothing of the text that it was cut from. Those that are
    ``forgotten``, and not just replaced, get tombstones: a job that was accepted before stores no vector of them.
    """
    may_be_stored = forgotten is not None and forgotten.may_be_stored
    if not may_be_stored and not ports.text_vectors.holds(collection):
        yield
        return
    stored = ports.bodies[kind]
    before = stored.whole(collection, [document])
    yield
    after = stored.whole(collection, [document])
    ids, texts = [] if after else [document], set(_texts(before)) - set(_texts(after))
    if forgotten is not None:
        # First, because it waits for those who store vectors.
        forgotten.leave_tombstone(ids, texts)
    ports.text_vectors.drop(collection, text_ids=ids, texts=texts)


def _texts(written: Any) -> Iterator[str]:
    """Yield every text in a JSON value."""
    match written:
        case str():
            yield written
        case Mapping():
            for value in written.values():
                yield from _texts(value)
        case list() | tuple():
            for value in written:
                yield from _texts(value)
        case _:
            return
