"""Yesterday's job: over HTTP, in the console and on the command line, what it did is there when its result is gone."""

import json
from typing import Any
from uuid import uuid4

import httpx
import pytest
import redis
from typer.testing import CliRunner

from querymill.cli.main import app
from querymill_shared.board import Outcome, ValkeyBoard, Verdict, keys
from querymill_shared.board.attempts import AttemptPart
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.settings import Settings
from tests.fixtures.boards import claimed
from tests.fixtures.gateways import PATIENCE_S, GatewayHere, bearer, keys_on

TEXT = "zebrawaltz"


@pytest.fixture
def past(board: ValkeyBoard, quiet: Settings) -> tuple[str, str]:
    """The id of a job that is gone, and its session."""
    session = uuid4().hex
    options = SubmitOptions(labels={"session": session}, idempotency_key=f"key-{session}")
    job_id, _ = board.submit(ReportSearch(query=TEXT, collection="filings", hyde=True, deadline=60), options)
    board.finish(claimed(board, job_id, "original"), Outcome(parts=(AttemptPart("search", 3.0),)))
    parts = (AttemptPart("expand", 900.0, 450.0, 1),)
    board.finish(claimed(board, job_id, "hyde"), Outcome("failed", reason=TEXT, code="limit", parts=parts))
    board.settle(job_id, Verdict("done", result=json.dumps({"job_id": job_id, "query": TEXT})))
    with redis.Redis.from_url(quiet.redis_url) as server:
        parts_of_job = ("job", "steps", "events", "request", "result", "hits", "queries", "rings")
        server.delete(*keys.of_job(job_id, *parts_of_job))
    return job_id, session


def test_it_is_found_and_shown_and_its_result_is_not_there(quiet_http: httpx.Client, past: tuple[str, str]) -> None:
    job_id, session = past
    shown = quiet_http.get(f"/v1/jobs/{job_id}")
    assert shown.status_code == 200
    body = shown.json()
    assert (body["is_gone"], body["state"], body["request"]) == (True, "done", None)
    hyde = next(step for step in body["steps"] if step["name"] == "hyde")
    assert (hyde["code"], hyde["attempts"][0]["parts"][0]["waited_ms"]) == ("limit", 450.0)
    assert TEXT not in shown.text
    assert quiet_http.get(f"/v1/jobs/{job_id}/result").status_code == 404
    for parameters in ({"label": f"session:{session}"}, {"idempotency_key": f"key-{session}"}):
        found = quiet_http.get("/v1/jobs", params=parameters).json()["jobs"]
        assert [(job["job_id"], job["is_gone"]) for job in found] == [(job_id, True)]
    assert job_id in [job["job_id"] for job in quiet_http.get("/v1/jobs", params={"limit": 200}).json()["jobs"]]
    early: Any = {"until": "2020-01-01T00:00:00Z"}
    assert quiet_http.get("/v1/jobs", params=early).json()["jobs"] == []


def test_the_console_says_what_is_gone_and_why_it_was_slow(quiet_http: httpx.Client, past: tuple[str, str]) -> None:
    job_id, session = past
    page = quiet_http.get(f"/console/jobs/{job_id}")
    assert page.status_code == 200
    assert "Its question and its result are gone since" in page.text
    assert "hyde" in page.text
    assert TEXT not in page.text
    listed = quiet_http.get("/console/jobs", params={"q": f"session:{session}"})
    assert job_id in listed.text


def test_the_commands_show_it(quiet: Settings, past: tuple[str, str]) -> None:
    job_id, session = past

    def said(*arguments: str) -> Any:
        ran = CliRunner().invoke(app, [*arguments, "--json"], env={"REDIS_URL": quiet.redis_url})
        assert ran.exit_code == 0, ran.output
        return json.loads(ran.output)

    assert [job["job_id"] for job in said("jobs", "--label", f"session={session}")] == [job_id]
    assert job_id in [job["job_id"] for job in said("jobs", "--until", "2099-01-01")]
    assert said("jobs", "--until", "2020-01-01") == []
    shown = said("job", "show", job_id)
    assert (shown["gone"], shown["labels"]) == (True, {"session": session})
    assert [step["code"] for step in shown["steps"] if step["name"] == "hyde"] == ["limit"]


def test_another_tenant_does_not_see_it(quiet: Settings, past: tuple[str, str]) -> None:
    job_id, session = past
    with (
        keys_on(quiet) as keyring,
        GatewayHere(quiet) as gateway,
        httpx.Client(base_url=gateway.url, timeout=PATIENCE_S) as client,
    ):
        mine, others = bearer(keyring, "filings"), bearer(keyring, "elsewhere")
        assert client.get(f"/v1/jobs/{job_id}", headers=mine).status_code == 200
        hidden, unknown = (client.get(f"/v1/jobs/{each}", headers=others) for each in (job_id, "0" * 32))
        assert hidden.status_code == unknown.status_code == 404
        assert hidden.json()["type"] == unknown.json()["type"]
        found = client.get("/v1/jobs", params={"label": f"session:{session}"}, headers=others)
        assert found.json()["jobs"] == []


@pytest.mark.parametrize("has_leader", [False, True], ids=["its state is none", "the job whose work it shares is gone"])
def test_a_job_without_a_state_costs_no_other_its_place_on_the_list(
    board: ValkeyBoard, quiet: Settings, quiet_http: httpx.Client, has_leader: bool
) -> None:
    other, odd = (board.submit(ReportSearch(query=uuid4().hex, collection="filings", deadline=60))[0] for _ in range(2))
    (record,) = keys.of_job(odd, "job")
    with redis.Redis.from_url(quiet.redis_url) as server:
        if has_leader:
            server.hset(record, "leader", f"{odd[0]}{'0' * 31}")
        else:
            server.hset(record, "state", "odd")
        listed = quiet_http.get("/v1/jobs", params={"limit": 200})
        assert listed.status_code == 200, listed.text
        shown = [job["job_id"] for job in listed.json()["jobs"]]
        assert other in shown
        assert odd not in shown
        assert quiet_http.get(f"/v1/jobs/{odd}").status_code != 422
