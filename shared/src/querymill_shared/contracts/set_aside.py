"""The `list_set_aside` kind: which texts a provider refused, and why."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from querymill_shared.contracts.fields import Contract, DeadlineSeconds, Name, Request, TopN
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue


class ListSetAside(Request, Asks["SetAsideResult"]):
    """List the texts of a collection that a provider refused: they have no vector, and are found by their words.

    ``of`` names a retriever, such as "messages"; None lists the texts of all. ``after`` is the ``cursor`` of an earlier
    result.
    """

    queue: ClassVar[Queue] = Queue.SEARCH
    kind: Literal["list_set_aside"] = "list_set_aside"
    of: Name | None = None
    limit: TopN = 100
    after: Annotated[str, Field(max_length=1_000)] | None = None
    deadline: DeadlineSeconds = 30.0

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the one step of listing."""
        return ("list",)


class RefusedText(Contract):
    """A text that a provider refused.

    ``document`` and ``passage`` are its ids. ``model`` is the model that refused it, and ``reason`` says why in the
    provider's words, without anything of the text.
    """

    of: str
    document: str
    passage: str
    model: str
    reason: str
    at: datetime


class SetAsideResult(JobResult):
    """Texts that were refused, in the order of their ids. ``total`` counts all of them, and ``cursor`` lists on."""

    kind: Literal["list_set_aside"] = "list_set_aside"
    collection: str
    texts: tuple[RefusedText, ...] = ()
    cursor: str | None = None
