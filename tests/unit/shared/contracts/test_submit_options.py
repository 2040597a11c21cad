"""The rules of what accompanies a request."""

from typing import Any

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.errors import rule_text
from querymill_shared.contracts.submit_options import MAX_LABELS, PLAIN, SubmitOptions, options_beside

TOO_MANY = {f"name{number}": "v" for number in range(MAX_LABELS + 1)}


def test_the_label_that_is_superseded_is_one_of_the_job() -> None:
    options = SubmitOptions(labels={"turn": 7, "session": "42"}, supersedes={"session": 42})  # type: ignore[dict-item]
    assert options.all_labels == {"turn": "7", "session": "42"}


@pytest.mark.parametrize(
    ("given", "place", "rule"),
    [
        ({"labels": {"a b": "v"}}, "labels", "must be 1 to "),
        ({"labels": {"1st": "v"}}, "labels", "must be 1 to "),
        ({"labels": {"a": ""}}, "labels", "at least 1 character"),
        ({"labels": {"a": "v" * 101}}, "labels", "at most 100 characters"),
        ({"labels": {"a": "one\ntwo"}}, "labels", "must be printable"),
        ({"labels": {"a": "\u202eevil"}}, "labels", "must be printable"),
        ({"labels": {"a": " v"}}, "labels", "without blanks at its ends"),
        ({"labels": {"a": True}}, "labels", "valid string"),
        ({"labels": TOO_MANY}, "labels", "at most 10 items"),
        ({"supersedes": {"a": "1", "b": "2"}}, "supersedes", "at most 1 item"),
        ({"labels": {"a": "1"}, "supersedes": {"a": "2"}}, "", "supersedes: must not name another value"),
        ({"idempotency_key": ""}, "idempotency_key", "at least 1 character"),
    ],
)
def test_what_breaks_a_rule_is_named(given: dict[str, Any], place: str, rule: str) -> None:
    with pytest.raises(ValidationError) as raised:
        SubmitOptions.model_validate(given)
    entry = raised.value.errors()[0]
    assert str((*entry["loc"], "")[0]) == place
    assert rule in rule_text(entry)


def test_further_labels_leave_what_is_there() -> None:
    options = SubmitOptions(labels={"a": "1"}, supersedes={"b": "2"}).owned_by("web").labelled({"a": "x", "c": "3"})
    assert options.all_labels == {"a": "1", "b": "2", "c": "3"}
    assert (options.supersedes, options.owner) == ({"b": "2"}, "web")
    with pytest.raises(ValidationError):
        options.labelled(TOO_MANY)


def test_options_stand_beside_the_fields_of_a_request() -> None:
    fields = {"kind": "reports", "query": "q"}
    assert options_beside(fields) == (fields, PLAIN)
    assert options_beside(fields | {"labels": {"a": "1"}}) == (fields, SubmitOptions(labels={"a": "1"}))


def test_no_caller_names_the_owner() -> None:
    with pytest.raises(ValidationError):
        SubmitOptions.model_validate({"owner": "web"})
