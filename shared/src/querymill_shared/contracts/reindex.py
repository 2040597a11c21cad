"""The `reindex` kind: rebuild the text index from stored texts after the tokeniser changed."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from querymill_shared.contracts.fields import Growing, Lane, NoDeadline, Request, RequestLane
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

IndexedKind = Literal["modules", "messages", "conversations", "files", "reports"]


class Reindex(Request, Asks["ReindexResult"]):
    """Rebuild the text index of a collection if another version of the tokeniser built it.

    The new index is searched once it is complete. Until then searches go without text, and their results say so.

    Attributes:
        of: kind of the documents whose text index is rebuilt
    """

    queue: ClassVar[Queue] = Queue.INGEST
    kind: Literal["reindex"] = "reindex"
    lane: RequestLane = Lane.BULK
    of: IndexedKind
    deadline: NoDeadline = None

    @property
    def steps(self) -> tuple[str, ...]:
        """The one step. If it is interrupted, the next attempt resumes it."""
        return ("reindex",)


class ReindexResult(JobResult):
    """``total`` counts the texts indexed.

    Attributes:
        of: kind of the documents
        outcome: whether the index was rebuilt; "fresh": it was up to date
        pending: passages of conversations that wait for a vector; a job that embeds them has been submitted
        previous: version of the tokeniser that had built each index that was rebuilt, by the name of the index
        version: version of the tokeniser that builds indexes now
        changes: what this version reads differently; empty: nothing was rebuilt
    """

    kind: Literal["reindex"] = "reindex"
    of: IndexedKind
    outcome: Annotated[Literal["reindexed", "fresh"], Growing]
    pending: int = 0
    previous: dict[str, int] = Field(default_factory=dict)
    version: int = 0
    changes: str = ""
