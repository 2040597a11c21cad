"""The `reindex` kind: words made anew from stored texts, after the tokeniser changed."""

from typing import ClassVar, Literal

from querymill_shared.contracts.fields import Lane, Request
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

IndexedKind = Literal["modules", "messages", "conversations", "files"]


class Reindex(Request, Asks["ReindexResult"]):
    """Make the words of a collection anew where another tokeniser made them.

    The new ones are searched once all of them are there. Until then a search goes without words, and says so.
    """

    queue: ClassVar[Queue] = Queue.INGEST
    kind: Literal["reindex"] = "reindex"
    lane: Lane = Lane.BULK
    of: IndexedKind
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Reindexing is one step, resumed where it was cut."""
        return ("reindex",)


class ReindexResult(JobResult):
    """``total`` counts the texts whose words were made; ``outcome`` is "fresh" when they were of this tokeniser."""

    kind: Literal["reindex"] = "reindex"
    of: IndexedKind
    outcome: Literal["reindexed", "fresh"]
