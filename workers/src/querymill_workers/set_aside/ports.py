"""The port of texts that a provider refused."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from querymill_shared.values import frozen


class AsideKey(NamedTuple):
    """Names a refused text within its collection: who stores it, its document, its passage, and who refused it."""

    kind: str
    document: str
    passage: str
    model: str


@frozen
class AsideText:
    """A refused text of a document. ``reason`` is at most 300 characters and holds nothing of the text."""

    document: str
    passage: str
    model: str
    reason: str


@frozen
class AsideEntry:
    """A text that was set aside, why, and when."""

    key: AsideKey
    reason: str
    at: datetime


class SetAside(Protocol):
    """The texts that a provider refused. Every call names its collection and sees no other."""

    def add(self, collection: str, kind: str, texts: Sequence[AsideText]) -> None:
        """Set texts aside. A text that is aside already gets the new reason."""
        ...

    def drop(self, collection: str, kind: str, documents: Sequence[str] | None, *, model: str | None = None) -> None:
        """Drop the entries of documents, or of all with None, and with a model only those that it refused."""
        ...

    def texts(
        self, collection: str, *, limit: int, kind: str | None = None, after: AsideKey | None = None
    ) -> Sequence[AsideEntry]:
        """List the first ``limit`` entries in the order of their keys, those behind ``after`` if it is given."""
        ...

    def counts(self, collection: str) -> Mapping[str, int]:
        """Count the entries of each kind that has one."""
        ...
