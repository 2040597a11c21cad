"""An error over HTTP: what the caller can mend, without secrets and without the names of others."""

import json

import pytest
from fastapi import FastAPI
from pydantic import ValidationError
from starlette.testclient import TestClient

from querymill.gateway.http import problems
from querymill.gateway.http.documents import filter_of
from querymill_shared.contracts.errors import JobFailed, Overloaded, QuerymillError, UnknownCollection
from querymill_shared.contracts.jobs import validate_request

ERRORS = [
    (
        UnknownCollection("mine", "reports", {"theirs"}),
        404,
        "collection: holds nothing of this kind that the key may see",
    ),
    (Overloaded(17.2), 503, "too much work waits to begin this before its deadline; try again in 18 s"),
    (JobFailed("7", "failed: mongodb://u:HUNTER@m"), 424, "failed: mongodb://u:***@m"),
    (JobFailed("7", "failed: PostgreSQL: DiskFull", code="store_down"), 503, "failed: PostgreSQL: DiskFull"),
]


@pytest.mark.parametrize(("error", "status", "detail"), ERRORS)
def test_a_problem_says_what_its_caller_may_know(error: QuerymillError, status: int, detail: str) -> None:
    app = FastAPI()
    problems.register(app, lambda scope, problem: problems.respond(problem, ""))

    @app.get("/")
    def fail() -> None:
        raise error

    answer = TestClient(app).get("/")
    assert (answer.status_code, answer.json()["detail"]) == (status, detail)
    after = {"overloaded": "18", "unavailable": "1"}
    assert answer.headers.get("Retry-After") == after.get(answer.json()["type"].removeprefix("/problems/"))


def test_in_python_the_collections_there_are_are_listed() -> None:
    error = UnknownCollection("mine", "reports", {"theirs", "ours"})
    assert error.detail == "collection: no reports in 'mine'; collections with reports: ours, theirs"
    assert (error.collection, error.kind, error.known) == ("mine", "reports", ("ours", "theirs"))


@pytest.mark.parametrize(
    ("written", "rule"),
    [("{}", "Field required"), ('{"kind": "report"}', "must be one of: 'reports', 'ingest_reports'")],
)
def test_a_kind_that_lacks_is_told_from_one_that_is_not_known(written: str, rule: str) -> None:
    with pytest.raises(ValidationError) as broken:
        validate_request(written)
    ((field, told),) = problems.of_rules(broken.value).errors
    assert (field, told.startswith(rule)) == ("kind", True)


def test_a_rule_about_several_fields_names_the_one_that_it_is_about() -> None:
    session = {"session_id": "s", "messages": [{"text": "x"}]}
    asked = {"kind": "extend", "collection": "c", "retriever": "messages", "documents": [session]}
    with pytest.raises(ValidationError) as broken:
        validate_request(json.dumps(asked))
    rule = "must say how many messages of the session are stored"
    assert problems.of_rules(broken.value, below={"extend"}).errors == (("documents.0.after", rule),)


@pytest.mark.parametrize(
    ("conditions", "rule"),
    [
        (["company:ACME"], "name=value, name>=from, name<=to, name^=prefix or name=null"),
        (["company=null", "company=ACME"], "the conditions on a name cannot be joined"),
        (["company=[1"], "a value that begins with { or [ must be JSON"),
    ],
)
def test_a_filter_that_cannot_be_read_names_its_rule_and_repeats_no_input(conditions: list[str], rule: str) -> None:
    with pytest.raises(problems.Problem) as refused:
        filter_of(conditions, "reports")
    ((field, told),) = refused.value.errors
    assert (field, rule in told, "ACME" in told) == ("filter", True, False)
