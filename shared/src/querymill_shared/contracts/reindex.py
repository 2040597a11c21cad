"""The `reindex` kind: rebuild the text index from stored texts after the tokeniser changed."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from querymill_shared.contracts.fields import Growing, Lane, Request
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

IndexedKind = Literal["modules", "messages", "conversations", "files", "reports"]


class Reindex(Request, Asks["ReindexResult"]):
    """Rebuild the text index of a collection if another version of the tokeniser built it.

    The new index is searched once it is complete. Until then searches go without text, and their results say so.
    """

    queue: ClassVar[Queue] = Queue.INGEST
    kind: Literal["reindex"] = "reindex"
    lane: Lane = Lane.BULK
    of: IndexedKind
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """The one step. If it is interrupted, the next attempt resumes it."""
        return ("reindex",)


class ReindexResult(JobResult):
    """``total`` counts the texts indexed. ``outcome`` is "fresh" if the index was already up to date.

    ``previous`` maps each index that was rebuilt to the version of the tokeniser that had built it. ``version`` built
    it now, and ``changes`` says what this version reads differently.

    ``pending`` counts the passages of conversations that wait for a vector; a job that embeds them has been submitted.
    """

    kind: Literal["reindex"] = "reindex"
    of: IndexedKind
    outcome: Annotated[Literal["reindexed", "fresh"], Growing]
    pending: int = 0
    previous: dict[str, int] = Field(default_factory=dict)
    version: int = 0
    changes: str = ""
