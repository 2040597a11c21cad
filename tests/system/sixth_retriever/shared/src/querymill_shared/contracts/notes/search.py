"""The `notes` kind: a question in, the notes that share its words out."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from querymill_shared.contracts.fields import Contract, DeadlineSeconds, QueryText, Request
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue


class NoteSearch(Request, Asks["NoteResult"]):
    """Search the notes of a collection by their words."""

    queue: ClassVar[Queue] = Queue.SEARCH
    kind: Literal["notes"] = "notes"
    query: Annotated[QueryText, Field(description="the question")]
    limit: Annotated[int, Field(ge=1, le=100, description="number of notes returned")] = 5
    deadline: DeadlineSeconds = 10.0

    @property
    def steps(self) -> tuple[str, ...]:
        """A search is one step."""
        return ("search",)


class NoteHit(Contract):
    """A note; ``explanation`` holds the parts that ``score`` is the sum of."""

    note_id: str
    text: str
    score: float
    explanation: dict[str, Any]


class NoteResult(JobResult):
    """The notes found, the best first."""

    kind: Literal["notes"] = "notes"
    query: str
    collection: str
    results: tuple[NoteHit, ...]
