"""Labels as parameters of a request: ``label=session:42``, as often as there are labels."""

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import Query
from pydantic import Field, ValidationError

from querymill.gateway.http.problems import invalid
from querymill_shared.contracts.errors import first_errors, rule_text
from querymill_shared.contracts.submit_options import LABEL_PATTERN, LABELS, MAX_LABELS

_FORM: Final = "must be a name and a value, as session:42"

GivenLabels = Annotated[
    list[Annotated[str, Field(json_schema_extra={"pattern": LABEL_PATTERN})]],
    Query(alias="label", max_length=MAX_LABELS, description="name:value, as session:42; may be repeated"),
]


def read_labels(given: Sequence[str]) -> dict[str, str]:
    """Read labels that are written as name:value.

    Raises:
        Problem: One is not, or breaks a rule.
    """
    parted = [each.partition(":") for each in given]
    if not all(colon for _, colon, _ in parted):
        raise invalid(("label", _FORM))
    if len({name for name, _, _ in parted}) < len(parted):
        raise invalid(("label", "must name each label once"))
    try:
        return LABELS.validate_python({name: value for name, _, value in parted})
    except ValidationError as error:
        rules = {rule_text(entry) for entry in first_errors(error, 3)}
        raise invalid(*(("label", f"{_FORM}: {rule}") for rule in sorted(rules))) from None
