"""Embedding a code base with another model."""

from typing import ClassVar, Literal

from querymill_shared.contracts.fields import Lane, Name, Request
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue


class ReembedFiles(Request, Asks["ReembedFilesResult"]):
    """Embed all files of a collection with another model, then search the collection by that model.

    The new vectors stand beside those of the previous model, which searches compare until the switch. The switch is one
    statement. ``model`` is the EMBEDDING_MODEL of the workers; its vectors may have any dimension. Texts that its
    provider refused before are tried again. A collection without vectors gets them by this, and goes on getting them.
    """

    queue: ClassVar[Queue] = Queue.EMBED
    kind: Literal["reembed_files"] = "reembed_files"
    lane: Lane = Lane.BULK
    model: Name
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """A single step, which resumes after an interruption."""
        return ("reembed",)


class ReembedFilesResult(JobResult):
    """The collection is searched by ``model`` now. ``total`` counts the chunks that the job embedded."""

    kind: Literal["reembed_files"] = "reembed_files"
    collection: str
    model: str
