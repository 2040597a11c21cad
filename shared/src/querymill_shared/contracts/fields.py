"""The fields every request shares, and the rules they are held to."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat, StringConstraints

from querymill_shared.queues import Queue

#: Longest query accepted, in characters.
LONGEST_QUERY = 8_000


class Lane(StrEnum):
    """Who goes first where a resource is short."""

    INTERACTIVE = "interactive"
    NORMAL = "normal"
    BULK = "bulk"


def not_blank(text: str) -> str:
    """Refuse a text of nothing but white space."""
    if not text.strip():
        raise ValueError("must not be empty or blank")
    return text


def _no_nul(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain NUL characters")
    return text


def without_nul(text: str) -> str:
    """Put blanks for NUL characters."""
    return text.replace("\x00", " ")


def _no_duplicates(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) != len(names):
        raise ValueError("names each value at most once")
    return names


def _number_as_text(given: object) -> object:
    """Read a whole number as its digits: 0 is an id like any other."""
    return str(given) if isinstance(given, int) and not isinstance(given, bool) else given


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("must lie in the years 1 to 9999 in UTC") from error


QueryText = Annotated[str, Field(max_length=LONGEST_QUERY), AfterValidator(not_blank), AfterValidator(_no_nul)]
Name = Annotated[str, Field(max_length=200), AfterValidator(not_blank), AfterValidator(_no_nul)]
FilePath = Annotated[str, Field(max_length=1_000), AfterValidator(not_blank), AfterValidator(_no_nul)]
#: Long text as it was extracted; NUL, which PostgreSQL cannot hold, becomes a blank.
PageText = Annotated[str, Field(max_length=200_000), AfterValidator(without_nul)]
#: What one call can show a model of a passage, and more.
PassageText = Annotated[str, Field(max_length=20_000), AfterValidator(without_nul), AfterValidator(not_blank)]
Id = Annotated[Name, BeforeValidator(_number_as_text)]
#: A time without a zone is taken as UTC.
Moment = Annotated[datetime, AfterValidator(_in_utc)]
CollectionName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Sha1 = Annotated[str, StringConstraints(pattern=r"^[0-9a-zA-Z._-]{1,100}$")]
TopN = Annotated[int, Field(ge=1, le=200)]
PositiveFloat = Annotated[FiniteFloat, Field(gt=0)]
Distinct = AfterValidator(_no_duplicates)

#: Seconds from submission until the answer is due.
DeadlineSeconds = Annotated[FiniteFloat, Field(gt=0, le=600)]


class Contract(BaseModel):
    """Anything that crosses the wire: frozen, and unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_max_length=2_000_000)


class Request(Contract):
    """What every job is asked with; ``queue`` is where its bells ring unless `queue_of` says otherwise."""

    queue: ClassVar[Queue]

    version: Literal[1] = 1
    collection: CollectionName
    lane: Lane = Lane.INTERACTIVE

    def queue_of(self, step: str) -> Queue:  # noqa: ARG002  # most kinds have one queue for all their steps
        """Name the queue on which the bell of a step is rung."""
        return self.queue
