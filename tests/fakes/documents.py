"""Documents in memory, of no real retriever: what the flows of documents are tested with."""

from collections.abc import Mapping, Sequence
from typing import Any

from querymill_shared.contracts.filters import Retriever
from querymill_workers.documents.memory import MemoryDocuments
from querymill_workers.documents.ports import Body, Entry
from querymill_workers.jobs.revisions import Revision
from querymill_workers.versions.ports import Version


class KeptBody(Body):
    """`Body` in a dictionary: JSON values by collection and id; ``documents`` is what is known of them."""

    def __init__(self, retriever: Retriever = "messages") -> None:
        self.documents = MemoryDocuments(retriever)
        self.stored: dict[str, dict[str, Mapping[str, Any]]] = {}
        self.left: list[str] = []

    def put(self, collection: str, **documents: Mapping[str, Any]) -> None:
        self.stored.setdefault(collection, {}).update(documents)
        entries = [Entry(id_, {}, line, title=line.get("title"), size=1) for id_, line in documents.items()]
        self.documents.put(collection, [(entry, Revision("r")) for entry in entries])

    def entry_of(self, line: Mapping[str, Any]) -> Entry | None:
        """Say of a session who speaks in it, and nothing of anything else."""
        return Entry(line["session_id"], {}, line) if "session_id" in line else None

    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        documents = self.stored.get(collection, {})
        return {key: documents[key] for key in ids if key in documents}

    def drop(self, collection: str, document: str, _version: Version) -> int:
        self.documents.drop(collection, [document])
        return 0 if self.stored.get(collection, {}).pop(document, None) is None else 1

    def drop_remains(self, collection: str) -> None:
        self.left.append(collection)
