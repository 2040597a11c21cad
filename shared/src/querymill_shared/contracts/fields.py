"""The fields that all requests share, and their rules."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core.core_schema import no_info_after_validator_function

from querymill_shared.queues import Queue
from querymill_shared.values import value

T = TypeVar("T")

#: Longer queries are rejected.
MAX_QUERY_CHARS = 8_000
#: Longer names and titles are rejected.
MAX_NAME_CHARS = 200


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


def number_as_text(given: object) -> object:
    """Return a whole number as its digits, so that numbers, even 0, can be ids."""
    return str(given) if isinstance(given, int) and not isinstance(given, bool) else given


def _or_as_it_is(given: Any, known: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    try:
        return known(given)
    except ValidationError:
        if info.context == FROM_BOARD and isinstance(given, str):
            return given
        raise


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("must lie in the years 1 to 9999 in UTC") from error


class _Distinct(AfterValidator):
    """A validator whose rule the schema states too."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(core) | {"uniqueItems": True}


@value
class Written:
    """A pattern that a text matches as a whole, and the rule in words: callers read the words, programs the pattern."""

    pattern: str
    rule: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        compiled = re.compile(self.pattern)

        def check(text: str) -> str:
            if compiled.fullmatch(text) is None:
                raise PydanticCustomError("string_pattern_mismatch", "{rule}", {"rule": self.rule})
            return text

        return no_info_after_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(core) | {"pattern": self.pattern}


#: What the validators below ask for, as callers read it in the schema. Engines differ in what `\s` is.
WITH_TEXT: Final[dict[str, Any]] = {"pattern": r"^[^\u0000]*[^\s\u0000\u001c-\u001f\u0085][^\u0000]*$"}
QueryText = Annotated[
    str,
    Field(max_length=MAX_QUERY_CHARS, json_schema_extra=WITH_TEXT),
    AfterValidator(not_blank),
    AfterValidator(_no_nul),
]
Name = Annotated[
    str,
    Field(max_length=MAX_NAME_CHARS, json_schema_extra=WITH_TEXT),
    AfterValidator(not_blank),
    AfterValidator(_no_nul),
]
FilePath = Annotated[
    str, Field(max_length=1_000, json_schema_extra=WITH_TEXT), AfterValidator(not_blank), AfterValidator(_no_nul)
]
#: Extracted text. NUL, which PostgreSQL cannot store, becomes a blank.
PageText = Annotated[str, Field(max_length=200_000), AfterValidator(without_nul)]
#: More of a passage than one call can show a model.
PassageText = Annotated[
    str,
    Field(max_length=20_000, json_schema_extra=WITH_TEXT),
    AfterValidator(without_nul),
    AfterValidator(not_blank),
]
Id = Annotated[Name, BeforeValidator(number_as_text)]
#: A time without a zone is read as UTC.
Moment = Annotated[datetime, AfterValidator(_in_utc)]
_NAME_OF_COLLECTION: Final = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_RULE_OF_NAMES: Final = (
    "1 to 64 letters (A to Z), digits, dots, dashes or underscores, and begin with a letter or a digit"
)
CollectionName = Annotated[str, Written(rf"^{_NAME_OF_COLLECTION}$", f"must be {_RULE_OF_NAMES}")]
#: One collection, or several, joined by commas.
CollectionNames = Annotated[
    str,
    Written(
        rf"^{_NAME_OF_COLLECTION}(,{_NAME_OF_COLLECTION}){{0,63}}$",
        f"must be names of collections, joined by commas; each must be {_RULE_OF_NAMES}",
    ),
]
Sha1 = Annotated[
    str,
    Written(r"^[0-9a-zA-Z._-]{1,100}$", "must be 1 to 100 letters (A to Z), digits, dots, dashes or underscores"),
]
TopN = Annotated[int, Field(ge=1, le=200)]
PositiveFloat = Annotated[FiniteFloat, Field(gt=0)]
Distinct = _Distinct(_no_duplicates)

#: The context in which `from_board` validates.
FROM_BOARD: Literal["from the board"] = "from the board"
#: Marks the named values of results and events to which a newer release may add. Read from the board, a name that
#: this release does not know stays as it is.
Growing = WrapValidator(_or_as_it_is)

RequestLane = Annotated[Lane, Field(description="priority under a provider's rate limit")]
#: Between the names of collections where a job of several is named after all of them. No name contains it.
JOINED: Final = ","

#: For jobs that are not due at any time.
NoDeadline = Annotated[None, Field(description="always null: the job has no deadline")]
#: Seconds from submission until the result is due.
DeadlineSeconds = Annotated[FiniteFloat, Field(gt=0, le=600, description="seconds until the result is due")]


def from_board(read: TypeAdapter[T], written: str | bytes | Mapping[str, Any]) -> T:
    """Read what is on the board, as JSON or as the decoded object. Fields that only a newer release knows are ignored.

    Raises:
        pydantic.ValidationError: It breaks a rule; the error names the field and the rule.
    """
    validate = read.validate_json if isinstance(written, str | bytes) else read.validate_python
    try:
        return validate(written, context=FROM_BOARD)  # type: ignore[arg-type]  # chosen by the type
    except ValidationError as error:
        if all(broken["type"] != "extra_forbidden" for broken in error.errors(include_input=False)):
            raise
    # "ignore" would also drop the metadata of documents.
    return validate(written, extra="allow", context=FROM_BOARD)  # type: ignore[arg-type]  # chosen by the type


def _fail_fast(schema: Any) -> None:
    """Let every list below a schema end at its first error."""
    if isinstance(schema, dict) and schema.get("type") in ("list", "tuple", "set", "frozenset"):
        schema["fail_fast"] = True
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list | tuple) else ()
    for part in parts:
        _fail_fast(part)


class Contract(BaseModel):
    """Base class of everything that crosses the wire. Instances are frozen.

    Unknown fields are rejected. `from_board` alone ignores them, because a newer release may have written them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", str_max_length=2_000_000, hide_input_in_errors=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[BaseModel], handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of a contract, whose lists report the first value that breaks a rule, not every one.

        A body of 10 MB may hold millions of such values. Their errors would take gigabytes and minutes.
        """
        schema = handler(source)
        _fail_fast(schema)
        return schema


class AnyRequest(Contract):
    """Base class of all requests. ``queue`` is the queue of its bells, unless `queue_of` returns another."""

    queue: ClassVar[Queue]
    #: A release that does not know a version leaves the job to one that does.
    newest_version: ClassVar[int] = 1

    version: Annotated[int, Field(ge=1, strict=True, description="version of the request; leave it out")] = 1

    @field_validator("version")
    @classmethod
    def _is_known(cls, version: int) -> int:
        if version > cls.newest_version:
            raise ValueError(f"must be at most {cls.newest_version}, the newest version that this release knows")
        return version

    def queue_of(self, step: str) -> Queue:  # noqa: ARG002  # most kinds have one queue for all their steps
        """Return the queue on which the bell of a step is rung."""
        return self.queue


class Request(AnyRequest):
    """Base class of the requests that are about one collection.

    A kind whose ``lane`` is bulk by default loads documents. It cannot claim the lane that is kept for questions.
    """

    collection: Annotated[CollectionName, Field(description="name of the collection")]
    lane: RequestLane = Lane.INTERACTIVE

    @field_validator("lane")
    @classmethod
    def _interactive_is_for_questions(cls, lane: Lane) -> Lane:
        if cls.model_fields["lane"].default is Lane.BULK and lane is Lane.INTERACTIVE:
            raise ValueError("must be normal or bulk, because interactive is kept for questions")
        return lane
