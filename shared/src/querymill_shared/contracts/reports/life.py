"""What happens to reports after ingestion: embedding, and embedding with another model."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from querymill_shared.contracts.fields import Lane, Name, Request, Sha1
from querymill_shared.contracts.loading import MAX_DOCUMENTS
from querymill_shared.contracts.reports.ingest import IngestReport
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

#: Parts of a collection that `ReembedReports` embeds side by side. Each is a step.
PARTS = 8


class EmbedReports(Request, Asks["EmbedReportsResult"]):
    """Embed the passages of a report that have no vector. Ingestion submits it. Nothing is embedded twice."""

    queue: ClassVar[Queue] = Queue.EMBED
    kind: Literal["embed_reports"] = "embed_reports"
    lane: Lane = Lane.BULK
    document: Sha1
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the one step of embedding, which a later attempt resumes."""
        return ("embed",)


class EmbedReportsResult(JobResult):
    """What embedding did. ``total`` counts the vectors made, and ``set_aside`` the passages that a provider refused."""

    kind: Literal["embed_reports"] = "embed_reports"
    document: str
    set_aside: int = 0


class EmbedLoadedReports(Request, Asks["EmbedLoadedReportsResult"]):
    """Embed the passages of many reports that have no vector. Loading submits it. Nothing is embedded twice."""

    queue: ClassVar[Queue] = Queue.EMBED
    kind: Literal["embed_loaded_reports"] = "embed_loaded_reports"
    lane: Lane = Lane.BULK
    documents: Annotated[tuple[Sha1, ...], Field(min_length=1, max_length=MAX_DOCUMENTS)]
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the one step of embedding, which a later attempt resumes."""
        return ("embed",)


class EmbedLoadedReportsResult(JobResult):
    """What embedding did. ``total`` counts the vectors made, and ``set_aside`` the passages that a provider refused."""

    kind: Literal["embed_loaded_reports"] = "embed_loaded_reports"
    set_aside: int = 0


class ReembedReports(Request, Asks["ReembedReportsResult"]):
    """Embed all reports of a collection with another model, then search the collection by that model.

    The new vectors are stored next to those of the previous model, which searches use until the switch. The switch is
    one transaction. ``model`` is the EMBEDDING_MODEL of the workers, and may have any dimension. Passages that a
    provider has refused are tried again.
    """

    queue: ClassVar[Queue] = Queue.EMBED
    kind: Literal["reembed_reports"] = "reembed_reports"
    lane: Lane = Lane.BULK
    model: Name
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Return a step for each part of the collection. A later attempt resumes a part, and the last part switches."""
        return tuple(f"part-{number}" for number in range(PARTS))


class ReembedReportsResult(JobResult):
    """The collection is searched by ``model`` now. ``total`` counts the vectors made by the job."""

    kind: Literal["reembed_reports"] = "reembed_reports"
    collection: str
    model: str
    set_aside: int = 0


def embedding_of(request: IngestReport) -> EmbedReports:
    """Return the request that embeds a report after its ingestion."""
    return EmbedReports(collection=request.collection, document=request.report.sha1, lane=request.lane)


def embedding_key(job_id: str) -> str:
    """Return the idempotency key of the embedding after a job of ingestion.

    The worker and a client that waits for the vectors both submit it, and so share one job.
    """
    return f"vectors after {job_id}"
