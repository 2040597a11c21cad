"""Callbacks: what a caller asks for, what it is told when the job ends, and the job that tells it.

What is told follows Standard Webhooks: a type, a time and data. It holds no text of anybody; the links lead to the
result.
"""

from datetime import UTC, datetime
from typing import Annotated, ClassVar, Final, Literal, Self, get_args

from pydantic import AfterValidator, Field, TypeAdapter

from querymill_shared.callback_addresses import URL_PATTERN, read_address
from querymill_shared.contracts.codes import OptionalCode
from querymill_shared.contracts.fields import (
    AnyRequest,
    Contract,
    Distinct,
    Growing,
    Lane,
    NoDeadline,
    RequestLane,
    Written,
)
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

CallbackEvent = Literal["done", "failed", "cancelled", "dead"]
EVENTS: Final[tuple[CallbackEvent, ...]] = get_args(CallbackEvent)
#: The version of what is told. A higher one may have further fields, and none fewer.
MESSAGE_VERSION: Final = 1


def _readable(url: str) -> str:
    read_address(url)
    return url


CallbackUrl = Annotated[
    str,
    Field(
        max_length=2_000,
        json_schema_extra={"pattern": URL_PATTERN},
        description="address that is told, by a signed POST; its origin is one that QUERYMILL_CALLBACK_ORIGINS lists",
    ),
    AfterValidator(_readable),
]


class Callback(Contract):
    """Where a caller is told that its job has ended, and of which ends."""

    url: CallbackUrl
    events: Annotated[
        tuple[CallbackEvent, ...],
        Field(min_length=1, description="the ends to tell of: done, failed, cancelled, dead"),
        Distinct,
    ] = EVENTS


class EndedJob(Contract):
    """How a job ended.

    Attributes:
        job_id: id of the job that ended
        kind: kind of the job
        collection: collection of the job; of several, joined by commas
        state: how the job ended; "dead": it was given up, and can be replayed
        complete: false: the job is done, and its result lacks a part
        labels: labels that the job was submitted with
        created_at: when the job was submitted, in UTC
        ended_at: when the job ended, in UTC
        links: paths of the gateway by name: `job`, and `result` if the job is done
    """

    job_id: str
    kind: str
    collection: str
    state: Annotated[CallbackEvent, Growing]
    complete: bool = True
    code: OptionalCode = None
    labels: dict[str, str] = Field(default_factory=dict)
    created_at: datetime
    ended_at: datetime
    links: dict[str, str] = Field(default_factory=dict)


class JobEndedMessage(Contract):
    """What a caller is told of a job that has ended.

    Attributes:
        type: "job." and how the job ended, such as "job.done"
        version: version of the message; a higher one may have further fields, and none fewer
        timestamp: when the job ended, in UTC
        data: the job, and how it ended
    """

    type: str
    version: int = MESSAGE_VERSION
    timestamp: datetime
    data: EndedJob

    @classmethod
    def of(cls, ended: EndedJob) -> Self:
        """Return what is told of a job."""
        return cls(type=f"job.{ended.state}", timestamp=ended.ended_at, data=ended)

    @property
    def id(self) -> str:
        """The id of the message: the same for every delivery of it, another if the job is replayed and ends again."""
        return f"{self.data.job_id}-{round(self.timestamp.timestamp() * 1000)}"


class TellCaller(AnyRequest, Asks["ToldCaller"]):
    """Tell an address that a job has ended. The mill submits it itself when a job with a callback ends.

    It is tried again until the address accepts it, in the end once an hour, and is dead after the time for which jobs
    wait for outages.

    Attributes:
        message: what the address is told, as the body of the POST
    """

    queue: ClassVar[Queue] = Queue.EXPAND
    kind: Literal["tell_caller"] = "tell_caller"
    collection: Annotated[
        str,
        Field(
            max_length=10_000,
            description="name of the collection of the job that has ended; the names of all that it searched",
        ),
        Written(
            r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}(,[A-Za-z0-9][A-Za-z0-9._-]{0,63})*$",
            "must be names of collections, joined by commas",
        ),
    ]
    lane: RequestLane = Lane.NORMAL
    url: CallbackUrl
    message: JobEndedMessage
    deadline: NoDeadline = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the one step of telling."""
        return ("tell",)


class ToldCaller(JobResult):
    """That an address has accepted what it was told. ``total`` is 1.

    Attributes:
        collection: collection of the job that has ended; of several, joined by commas
        message_id: id of the message, which the address got in the header `webhook-id`
        status: status of HTTP with which the address accepted the message
    """

    kind: Literal["tell_caller"] = "tell_caller"
    collection: str
    message_id: str
    status: int


class OpenCallback(Contract):
    """What the board keeps of a job that has ended until the job that tells its caller is submitted.

    ``callback`` and ``labels`` are as the job's record has them, ``event`` is its last one; times are in ms since the
    epoch. ``owner`` is the API key of the caller, "" without one.
    """

    job_id: str
    kind: str
    collection: str
    state: Annotated[CallbackEvent, Growing]
    owner: str = ""
    created: int
    ended: int
    callback: Callback
    labels: dict[str, str] = Field(default_factory=dict)
    complete: bool = True
    code: OptionalCode = None

    def to_tell(self) -> TellCaller:
        """Return the job that tells the caller."""
        at = f"/v1/jobs/{self.job_id}"
        links = {"job": at, "result": f"{at}/result"} if self.state == "done" else {"job": at}
        ended = EndedJob(
            job_id=self.job_id,
            kind=self.kind,
            collection=self.collection,
            state=self.state,
            complete=self.complete,
            code=self.code,
            labels=self.labels,
            created_at=_moment(self.created),
            ended_at=_moment(self.ended),
            links=links,
        )
        return TellCaller(collection=self.collection, url=self.callback.url, message=JobEndedMessage.of(ended))


#: What reads one from the board.
OPEN_CALLBACK: Final[TypeAdapter[OpenCallback]] = TypeAdapter(OpenCallback)


def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
