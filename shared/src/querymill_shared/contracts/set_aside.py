"""The `list_set_aside` kind: which texts a provider refused, and why."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from querymill_shared.contracts.fields import Contract, DeadlineSeconds, Name, Request, TopN
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue


class ListSetAside(Request, Asks["SetAsideResult"]):
    """List the texts of a collection that a provider refused: they have no vector, and are found by their words.

    Attributes:
        of: kind of the documents whose texts are listed, such as "messages"; null: all kinds
        limit: number of texts on the page
        after: `cursor` of the page before, which this page goes on from; null: the first page
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

    Attributes:
        of: kind of the document
        document: id of the document that the text is in
        passage: id of the text's passage in the document
        model: embedding model that refused the text
        reason: why, in the provider's words, without anything of the text
        at: when the model refused it
    """

    of: str
    document: str
    passage: str
    model: str
    reason: str
    at: datetime


class SetAsideResult(JobResult):
    """Texts that were refused. ``total`` counts all of them, on every page.

    Attributes:
        collection: collection that was listed
        texts: texts of this page, in the order of their ids
        cursor: `after` of the next page; null: this page is the last
    """

    kind: Literal["list_set_aside"] = "list_set_aside"
    collection: str
    texts: tuple[RefusedText, ...] = ()
    cursor: str | None = None
