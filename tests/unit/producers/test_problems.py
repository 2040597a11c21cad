"""An error over HTTP: what the caller can mend, without secrets and without the names of others."""

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from querymill.gateway import problems
from querymill_shared.contracts.errors import JobFailed, Overloaded, QuerymillError, UnknownCollection

ERRORS = [
    (
        UnknownCollection("mine", "reports", {"theirs"}),
        404,
        "collection: holds nothing of this kind that the key may see",
    ),
    (Overloaded(17.2), 503, "too much work waits to begin this before its deadline; try again in 18 s"),
    (JobFailed("7", "failed: mongodb://u:HUNTER@m"), 424, "failed: mongodb://u:***@m"),
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
    assert answer.headers.get("Retry-After") == ("18" if isinstance(error, Overloaded) else None)


def test_in_python_the_collections_there_are_are_listed() -> None:
    error = UnknownCollection("mine", "reports", {"theirs", "ours"})
    assert str(error) == "collection: no reports in 'mine'; collections with reports: ours, theirs"
    assert (error.collection, error.kind, error.known) == ("mine", "reports", ("ours", "theirs"))
