"""Embedding the descriptions of code documents: after an ingestion, and again with another model."""

from typing import ClassVar, Literal

from querymill_shared.contracts.fields import Lane, Name, Request
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue


class EmbedModules(Request, Asks["EmbedModulesResult"]):
    """Embed the descriptions of a collection that have no vector. Ingestion submits it."""

    queue: ClassVar[Queue] = Queue.EMBED
    kind: Literal["embed_modules"] = "embed_modules"
    lane: Lane = Lane.BULK
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """A single step, which resumes after an interruption."""
        return ("embed",)


class EmbedModulesResult(JobResult):
    """``total`` counts the passages that were embedded, ``pending`` those that still have no vector."""

    kind: Literal["embed_modules"] = "embed_modules"
    collection: str
    pending: int


class ReembedModules(Request, Asks["ReembedModulesResult"]):
    """Embed all descriptions of a collection that have no vector of the workers' model.

    Searches compare the vectors of that model alone. Until all are there, a search for vectors names what is pending.
    ``model`` is the EMBEDDING_MODEL of the workers; its vectors may have any dimension. Texts that its provider refused
    before are tried again. Documents that were ingested before descriptions were embedded get their vectors, too.
    """

    queue: ClassVar[Queue] = Queue.EMBED
    kind: Literal["reembed_modules"] = "reembed_modules"
    lane: Lane = Lane.BULK
    model: Name
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """A single step, which resumes after an interruption."""
        return ("reembed",)


class ReembedModulesResult(JobResult):
    """The collection has its vectors of ``model``. ``total`` counts the passages that the job embedded."""

    kind: Literal["reembed_modules"] = "reembed_modules"
    collection: str
    model: str
