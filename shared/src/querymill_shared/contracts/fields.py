"""The fields that all requests share, and their rules."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat, StringConstraints

from querymill_shared.queues import Queue

#: Longer queries are rejected.
MAX_QUERY_CHARS = 8_000


class Lane(StrEnum):
    """Priority when a resource is scarce, such as a provider's rate limit."""

    INTERACTIVE = "interactive"
    NORMAL = "normal"
    BULK = "bulk"


def not_blank(text: str) -> str:
    """Return the text, unless it is empty or blank.

    Raises:
        ValueError: It is.
    """
    if not text.strip():
        raise ValueError("must not be empty or blank")
    return text


def _no_nul(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain NUL characters")
    return text


def without_nul(text: str) -> str:
    """Return the text with a blank for every NUL character."""
    return text.replace("\x00", " ")


def _no_duplicates(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) != len(names):
        raise ValueError("values must be unique")
    return names


def _number_as_text(given: object) -> object:
    """Return a whole number as its digits, so that numbers, even 0, can be ids."""
    return str(given) if isinstance(given, int) and not isinstance(given, bool) else given


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("must lie in the years 1 to 9999 in UTC") from error


QueryText = Annotated[str, Field(max_length=MAX_QUERY_CHARS), AfterValidator(not_blank), AfterValidator(_no_nul)]
Name = Annotated[str, Field(max_length=200), AfterValidator(not_blank), AfterValidator(_no_nul)]
FilePath = Annotated[str, Field(max_length=1_000), AfterValidator(not_blank), AfterValidator(_no_nul)]
#: Extracted text. NUL, which PostgreSQL cannot store, becomes a blank.
PageText = Annotated[str, Field(max_length=200_000), AfterValidator(without_nul)]
#: More of a passage than one call can show a model.
PassageText = Annotated[str, Field(max_length=20_000), AfterValidator(without_nul), AfterValidator(not_blank)]
Id = Annotated[Name, BeforeValidator(_number_as_text)]
#: A time without a zone is read as UTC.
Moment = Annotated[datetime, AfterValidator(_in_utc)]
CollectionName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Sha1 = Annotated[str, StringConstraints(pattern=r"^[0-9a-zA-Z._-]{1,100}$")]
TopN = Annotated[int, Field(ge=1, le=200)]
PositiveFloat = Annotated[FiniteFloat, Field(gt=0)]
Distinct = AfterValidator(_no_duplicates)

#: Seconds from submission until the result is due.
DeadlineSeconds = Annotated[FiniteFloat, Field(gt=0, le=600)]


class Contract(BaseModel):
    """Base class of everything that crosses the wire. Instances are frozen, and unknown fields are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_max_length=2_000_000)


class Request(Contract):
    """Base class of all requests. ``queue`` is the queue of its bells, unless `queue_of` returns another."""

    queue: ClassVar[Queue]

    version: Literal[1] = 1
    collection: CollectionName
    lane: Lane = Lane.INTERACTIVE

    def queue_of(self, step: str) -> Queue:  # noqa: ARG002  # most kinds have one queue for all their steps
        """Return the queue on which the bell of a step is rung."""
        return self.queue
