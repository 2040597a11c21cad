"""What accompanies a request when it is submitted, and is no part of what is asked.

Two requests are identical, and share their work, whatever accompanies them. So the fingerprint by which an idempotency
key tells requests apart has nothing of it either: the same question under the same key leads to the first job, with the
labels of that job. Everything here stands in one value, which goes unchanged from the caller to the board. A new
companion of requests joins it here.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    TypeAdapter,
    model_validator,
)

from querymill_shared.contracts.callbacks import Callback
from querymill_shared.contracts.fields import Contract, Written, number_as_text

#: A job has at most so many labels, with names and values of at most so many characters.
MAX_LABELS, MAX_LABEL_NAME, MAX_LABEL_VALUE = 10, 32, 100


def _printable(value: str) -> str:
    if not value.isprintable() or value != value.strip():
        raise ValueError("must be printable characters, without blanks at its ends")
    return value


_NAME_PATTERN: Final = rf"[A-Za-z][A-Za-z0-9_-]{{0,{MAX_LABEL_NAME - 1}}}"
#: What a schema can say of values: which characters are printable, no pattern says alike everywhere.
_VALUE_PATTERN: Final = rf"\S(.{{0,{MAX_LABEL_VALUE - 2}}}\S)?"
#: A label as name:value, for schemas.
LABEL_PATTERN: Final = f"^{_NAME_PATTERN}:{_VALUE_PATTERN}$"
LabelName = Annotated[
    str,
    Written(
        f"^{_NAME_PATTERN}$",
        f"must be 1 to {MAX_LABEL_NAME} letters (A to Z), digits, dashes or underscores, and begin with a letter",
    ),
]
LabelValue = Annotated[
    str,
    Field(min_length=1, max_length=MAX_LABEL_VALUE, json_schema_extra={"pattern": f"^{_VALUE_PATTERN}$"}),
    BeforeValidator(number_as_text),
    AfterValidator(_printable),
]
#: A schema allows no name but those of the pattern.
_NO_OTHERS: Final[dict[str, Any]] = {"additionalProperties": False}
Labels = Annotated[dict[LabelName, LabelValue], Field(max_length=MAX_LABELS, json_schema_extra=_NO_OTHERS)]
#: What reads labels alone.
LABELS: Final[TypeAdapter[dict[str, str]]] = TypeAdapter(Labels)
NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})


class SubmitOptions(Contract):
    """What a caller says of a job beside its request.

    The ``owner`` is the id of the API key that submits it, "" without one. No caller can set it: the gateway does.
    """

    idempotency_key: Annotated[
        str | None,
        Field(min_length=1, max_length=1_000, description="leads to the same job for as long as that is on the board"),
    ] = None
    labels: Annotated[
        Labels,
        Field(
            description="names and values of your own, such as user, session and turn, by which the job is found again;"
            " they are in its result, in logs, traces and metrics, and change nothing in what is found",
        ),
    ] = Field(default_factory=dict)
    supersedes: Annotated[
        dict[LabelName, LabelValue],
        Field(
            max_length=1,
            json_schema_extra=_NO_OTHERS,
            description="one label, which the job gets too: the jobs of the collection with this label that the same"
            " caller submitted before, and that have not ended, are cancelled",
        ),
    ] = Field(default_factory=dict)

    callback: Annotated[
        Callback | None,
        Field(
            description="where the caller is told that the job has ended, by a signed POST; the origin must be one that"
            " QUERYMILL_CALLBACK_ORIGINS lists"
        ),
    ] = None

    _owner: str = PrivateAttr(default="")

    @model_validator(mode="after")
    def _do_not_contradict(self) -> Self:
        if any(self.labels.get(name, value) != value for name, value in self.supersedes.items()):
            raise ValueError("supersedes: must not name another value of a label that the job has")
        if len(self.all_labels) > MAX_LABELS:
            raise ValueError(f"labels: must be at most {MAX_LABELS}, with that of supersedes")
        return self

    @property
    def all_labels(self) -> dict[str, str]:
        """The labels that the job has, with that of ``supersedes``."""
        return {**self.labels, **self.supersedes}

    @property
    def owner(self) -> str:
        """The id of the API key that submits the job, "" without one."""
        return self._owner

    def owned_by(self, owner: str) -> Self:
        """Return the same options of another owner. Each owner has idempotency keys of its own."""
        owned = self.model_copy()
        owned._owner = owner  # noqa: SLF001  # of this class
        return owned

    def labelled(self, labels: Mapping[str, str]) -> Self:
        """Return the same options with further labels. Those that are there already stay.

        Raises:
            pydantic.ValidationError: There are too many of them, or one breaks a rule.
        """
        if not labels:
            return self
        written = self.model_dump() | {"labels": {**labels, **self.all_labels}}
        return type(self).model_validate(written).owned_by(self.owner)


#: The fields of options that stand beside those of a request where both are in one object, as in a body over HTTP.
BESIDE: Final = frozenset(SubmitOptions.model_fields) - {"idempotency_key"}
#: Nothing accompanies a request.
PLAIN: Final = SubmitOptions()


def options_beside(fields: Mapping[str, Any]) -> tuple[dict[str, Any], SubmitOptions]:
    """Part an object with the fields of a request and those of options into the request's and the options.

    Raises:
        pydantic.ValidationError: An option breaks a rule; the error names both.
    """
    asked = {name: value for name, value in fields.items() if name not in BESIDE}
    beside = {name: value for name, value in fields.items() if name in BESIDE}
    return asked, SubmitOptions.model_validate(beside) if beside else PLAIN
