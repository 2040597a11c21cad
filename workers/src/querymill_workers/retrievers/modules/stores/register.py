"""The register: which record of MongoDB counts for each code document. It changes in one transaction with the words."""

import threading
from collections.abc import Mapping, Sequence
from typing import Protocol

from typing_extensions import override

from querymill_workers.retrievers.modules.rules.documents import DocumentId


class Register(Protocol):
    """Names the record that counts for each document. Every call names its collection and sees no other."""

    def registered(self, collection: str, documents: Sequence[DocumentId]) -> Mapping[DocumentId, str]:
        """Return the names of the records that count, without documents that the register does not know."""
        ...

    def register(self, collection: str, documents: Sequence[DocumentId], record: str) -> None:
        """Have a record count for each document, from the end of the open transaction on."""
        ...

    def strike(self, collection: str, documents: Sequence[DocumentId]) -> None:
        """Remove documents from the register, at the end of the open transaction."""
        ...


class MemoryRegister(Register):
    """`Register` in this process. What it is told counts at once."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, DocumentId], str] = {}
        self._lock = threading.Lock()

    @override
    def registered(self, collection: str, documents: Sequence[DocumentId]) -> Mapping[DocumentId, str]:
        with self._lock:
            return {
                document: self._records[collection, document]
                for document in documents
                if (collection, document) in self._records
            }

    @override
    def register(self, collection: str, documents: Sequence[DocumentId], record: str) -> None:
        with self._lock:
            self._records |= {(collection, document): record for document in documents}

    @override
    def strike(self, collection: str, documents: Sequence[DocumentId]) -> None:
        with self._lock:
            for document in documents:
                self._records.pop((collection, document), None)
