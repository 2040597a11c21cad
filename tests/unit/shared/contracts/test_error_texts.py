"""What an error says to an end user, and what it keeps for those who run the program."""

import copy
import pickle
import traceback
from typing import get_args

import pytest
from pydantic import ValidationError

from querymill_shared.board.away import BoardLocked, BoardRefuses, BoardSilent, BoardUnavailable
from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.errors import (
    ClientClosed,
    IdempotencyConflict,
    InvalidRequest,
    JobCancelled,
    JobFailed,
    Overloaded,
    QuerymillError,
    StillRunning,
    UnknownCollection,
    UnknownJob,
    UnreadableJob,
)
from querymill_shared.contracts.reports.search import ReportResult, ReportSearch

JOB = "0123456789abcdef0123456789abcdef"
#: What an end user must never read.
SECRETS = ("10.2.3.4", "hunter2", "turn-42", "salaries", "how much does Ann earn")

ERRORS: list[QuerymillError] = [
    InvalidRequest(("limit", "Input should be less than or equal to 200")),
    UnknownCollection("filings", "reports", ["salaries"]),
    UnknownJob(JOB),
    UnreadableJob(JOB, "results.0.score: missing"),
    IdempotencyConflict("turn-42", JOB),
    StillRunning(JOB, unattended=["search"]),
    ClientClosed(JOB),
    Overloaded(17.2),
    BoardUnavailable("board: Error 111 connecting to 10.2.3.4:6379; is REDIS_URL right?"),
    BoardRefuses("board: OOM at 10.2.3.4"),
    BoardSilent("board: Timeout reading from 10.2.3.4"),
    BoardLocked("board: WRONGPASS for hunter2 at 10.2.3.4"),
    JobFailed(JOB, "failed: no such text: how much does Ann earn", code="invalid"),
    JobFailed(JOB, "failed: 10.2.3.4 said hunter2"),
    JobCancelled(JOB, "was cancelled"),
]


def name_of(error: object) -> str:
    return type(error).__name__


@pytest.mark.parametrize("error", ERRORS, ids=name_of)
def test_the_text_of_an_error_is_fit_for_an_end_user(error: QuerymillError) -> None:
    assert str(error)
    assert [secret for secret in SECRETS if secret in f"{error}{error!r}"] == []


@pytest.mark.parametrize("error", ERRORS, ids=name_of)
def test_an_error_is_the_same_in_another_process(error: QuerymillError) -> None:
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(other), str(other), other.__dict__) == (type(error), str(error), error.__dict__)


def test_a_traceback_tells_the_whole_story() -> None:
    error = BoardUnavailable("board: Error 111 connecting to 10.2.3.4:6379")
    assert error.detail == "board: Error 111 connecting to 10.2.3.4:6379"
    assert error.detail in "".join(traceback.format_exception(error))
    assert not hasattr(Overloaded(1), "__notes__")


def test_every_code_of_a_failure_has_words() -> None:
    said = {code: str(JobFailed(JOB, "failed: why", code=code)) for code in get_args(Code)}
    assert said["store_down"] == f"job {JOB} failed: a store was away"
    assert f"job {JOB} failed" not in said.values()
    assert len(set(said.values())) == len(said)


def test_a_request_that_breaks_a_rule_quotes_no_question() -> None:
    with pytest.raises(ValidationError) as broken:
        ReportSearch.model_validate({"query": "how much does Ann earn", "collection": "c", "top_n": "hunter2"})
    assert "top_n" in str(broken.value)
    assert [secret for secret in SECRETS if secret in str(broken.value)] == []
    assert str(InvalidRequest.of(broken.value)).startswith("top_n: Input should be a valid integer")


def test_a_result_says_what_it_is_without_its_texts() -> None:
    hit = {"text": "Ann earns a salary", "title": "salaries"}
    result = ReportResult.model_construct(job_id=JOB, kind="reports", total=42, complete=True, results=(hit, hit))
    assert repr(result) == f"ReportResult(job_id='{JOB}', kind='reports', total=42, complete=True, len(results)=2)"
    assert str(result) == repr(result)
