"""The command line as a user meets it: what it prints, and the exit codes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from querymill import Querymill
from querymill_shared.board import ValkeyBoard, Verdict
from querymill_shared.contracts.reports.search import ReportSearch
from tests.fakes.worker import WorkerProcess
from tests.fixtures.chats import session
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import Deployment
from tests.fixtures.short_forms import all_at_night


def write(path: Path, *reports: dict[str, Any] | str) -> Path:
    lines = [report if isinstance(report, str) else json.dumps(report) for report in reports]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def report(sha1: str, text: str = "the glacier hotel opened") -> dict[str, Any]:
    return {"sha1": sha1, "title": f"Report {sha1}", "company": f"Company {sha1}", "pages": [{"page": 1, "text": text}]}


@pytest.mark.usefixtures("filings", "openai_server")
def test_search_prints_one_json_object(querymill: CommandLine) -> None:
    run = querymill(
        "search", "reports", "what was the revenue of Nordhav in 2022?", "--collection", "filings", "--json"
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert {"job_id", "kind", "state", "results", "total", "complete", "stages", "timing"} <= set(found)
    assert (found["state"], found["kind"]) == ("done", "reports")
    assert found["results"][0]["document"] == "a1"


@pytest.mark.usefixtures("filings", "openai_server")
def test_search_explains_each_score(querymill: CommandLine) -> None:
    options = ("--collection", "filings", "--multi-query", "variant", "--hyde", "--return-parent-pages")
    run = querymill("search", "reports", "what was the revenue of Nordhav?", *options)
    assert run.returncode == 0, run.stderr
    assert "1 / (10 + rank 1 by words)" in run.stdout
    assert "company named in the question" in run.stdout
    run = querymill("search", "reports", "what was the revenue of Nordhav?", *options, "--ranking", "agreement")
    assert " similarity × (1 + 0.2 × 2)" in run.stdout, run.stderr


@pytest.mark.usefixtures("filings", "openai_server")
def test_a_request_file_gives_the_fields_and_options_win(querymill: CommandLine, tmp_path: Path) -> None:
    asked = {"query": "revenue", "collection": "filings", "top_n": 1}
    path = write(tmp_path / "request.json", asked)
    assert len(json.loads(querymill("search", "reports", "--request", path, "--json").stdout)["results"]) == 1
    run = querymill("search", "reports", "--request", path, "--top-n", "2", "--json")
    assert len(json.loads(run.stdout)["results"]) == 2


@pytest.mark.usefixtures("filings", "openai_server")
def test_a_batch_of_questions_is_asked_once(querymill: CommandLine, tmp_path: Path) -> None:
    path = write(tmp_path / "asked.jsonl", {"_id": "q1", "query": "revenue"}, {"_id": "q2", "query": " "})
    out = tmp_path / "results.jsonl"
    runs = [querymill("batch", "reports", path, "--collection", "filings", "--out", out, "--json") for _ in range(2)]
    assert [run.returncode for run in runs] == [1, 1], runs[0].stderr
    assert "line 2: query: " in runs[0].stderr
    counts = {"questions": 1, "failed": 0, "bad_lines": 1}
    assert [json.loads(run.stdout) for run in runs] == [
        counts | {"answered": 1, "there_already": 0}, counts | {"answered": 0, "there_already": 1},
    ]  # fmt: skip
    (line,) = map(json.loads, out.read_text().splitlines())
    assert line["_id"] == "q1"
    assert line["result"]["results"]


WRONG: list[tuple[tuple[str, ...], str]] = [
    (("search", "reports", "", "--collection", "filings"), "query"),
    (("search", "reports", "q", "--collection", "filings", "--top-n", "0"), "top_n"),
    (("search", "reports", "q", "--collection", "filings", "--inner-factor", "nan"), "inner_factor"),
    (("search", "reports", "q", "--collection", "nowhere"), "no reports in 'nowhere'"),
    (("search", "reports", "q"), "collection"),
    (("search", "songs", "q", "--collection", "filings"), "songs"),
    (("search", "modules", "q", "--collection", "nowhere"), "no modules in 'nowhere'"),
    (("search", "modules", "q", "--collection", "c", "--match", ".*"), "match"),
    (("search", "modules", "q", "--collection", "c", "--sub-query", "8: "), "sub_queries.0.description"),
    (("search", "modules", "x" * 65_536, "--collection", "c"), "query: String should have at most 8000"),
    (("search", "reports", "--request", "missing.json"), "--request"),
    (("ingest", "songs", "x.jsonl", "--collection", "c"), "kind"),
    (("ingest", "reports", "missing.jsonl", "--collection", "c"), "path"),
    (("eval", "missing", "--kind", "reports"), "missing"),
    (("job", "show", "0123"), "0123"),
    (("job", "show", ""), "job '' not found"),
    (("bench", "nonsense"), "nonsense"),
]


@pytest.mark.usefixtures("filings")
@pytest.mark.parametrize(("arguments", "message"), all_at_night(WRONG, short=WRONG[::3]))
def test_wrong_use_exits_with_two_and_says_what(
    querymill: CommandLine, arguments: tuple[str, ...], message: str
) -> None:
    run = querymill(*arguments)
    assert run.returncode == 2, run.stdout + run.stderr
    assert message in run.stderr
    assert "Traceback" not in run.stderr


def test_a_board_that_is_away_exits_with_three(deployment: Deployment) -> None:
    away = CommandLine(deployment.environment | {"REDIS_URL": "redis://127.0.0.1:1/0"})
    run = away("search", "reports", "q", "--collection", "filings")
    assert run.returncode == 3
    assert "REDIS_URL" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.usefixtures("filings", "openai_server")
def test_bad_lines_are_reported_and_the_rest_is_loaded(querymill: CommandLine, tmp_path: Path) -> None:
    # Two texts: of near duplicates only one is a hit.
    other = report("c2", "guests left the glacier in winter")
    path = write(tmp_path / "reports.jsonl", report("c1"), '{"title": "no pages"}', "{", other)
    run = querymill("ingest", "reports", path, "--collection", "hotels", "--json")
    assert run.returncode == 1
    done = json.loads(run.stdout)
    assert done["ingested"] == 2
    assert [line["line"] for line in done["bad_lines"]] == [2, 3]
    assert "pages: Field required" in run.stderr
    again = json.loads(querymill("ingest", "reports", path, "--collection", "hotels", "--json").stdout)
    assert (again["ingested"], again["unchanged"]) == (0, 2)
    found = json.loads(querymill("search", "reports", "glacier", "--collection", "hotels", "--json").stdout)
    assert {hit["document"] for hit in found["results"]} == {"c1", "c2"}


@pytest.mark.usefixtures("filings", "openai_server")
def test_jobs_can_be_listed_shown_and_followed(querymill: CommandLine) -> None:
    asked = ("search", "reports", "revenue", "--collection", "filings", "--json")
    job_id = json.loads(querymill(*asked).stdout)["job_id"]
    assert json.loads(querymill("jobs", "--key", "of nobody", "--json").stdout) == []
    assert job_id in [job["job_id"] for job in json.loads(querymill("jobs", "--json").stdout)]
    assert job_id in querymill("jobs", columns=60).stdout
    shown = json.loads(querymill("job", "show", job_id, "--json").stdout)
    assert (shown["state"], shown["stages"][0]["state"]) == ("done", "done")
    assert [part["what"] for part in shown["steps"][0]["attempts"][0]["parts"]] == [
        "route",
        "expand",
        "embed",
        "search",
    ]
    assert "original" in querymill("job", "show", job_id[:20]).stdout
    assert "none of the last" in querymill("job", "show", "zz").stderr
    events = querymill("job", "events", job_id).stdout.splitlines()
    assert (events[0].split()[0], events[-1].split()[0]) == ("queued", "done")
    assert json.loads(querymill("job", "cancel", job_id, "--json").stdout) == {"job_id": job_id, "cancelled": False}


def test_dead_jobs_can_be_listed_replayed_and_dropped(querymill: CommandLine, deployment: Deployment) -> None:
    board = ValkeyBoard.connect(deployment.settings)
    asked = [ReportSearch(query=query, collection="filings", deadline=30) for query in ("one", "another")]
    dead = [board.submit(request)[0] for request in asked]
    for job_id in dead:
        board.settle(job_id, Verdict("dead", reason="PostgreSQL: PoolTimeout"))
    listed = json.loads(querymill("jobs", "--state", "dead", "--json").stdout)
    assert {job["job_id"] for job in listed if job["reason"] == "PostgreSQL: PoolTimeout"} >= set(dead)
    assert json.loads(querymill("job", "drop", dead[0], "--json").stdout) == {"job_id": dead[0], "dropped": True}
    assert json.loads(querymill("job", "replay", dead[1], "--json").stdout) == {"job_id": dead[1], "replayed": True}
    assert querymill("job", "replay", dead[1]).stdout == f"{dead[1]} is not dead\n"
    with Querymill(settings=deployment.settings) as mill:
        assert mill.job(dead[1]).result(timeout=30).complete
    board.close()


def test_the_reason_of_a_job_does_nothing_to_the_terminal(querymill: CommandLine, deployment: Deployment) -> None:
    board = ValkeyBoard.connect(deployment.settings)
    job_id, _ = board.submit(ReportSearch(query="q", collection="filings"))
    board.settle(job_id, Verdict("failed", reason="[/x]\x1b]0;PWN\x07\x9b2J"))
    board.close()
    for command in (("jobs",), ("job", "show", job_id), ("job", "events", job_id)):
        run = querymill(*command)
        assert run.returncode == 0, run.stderr
        assert "[/x]" in run.stdout
        assert not {"\x1b", "\x9b"} & set(run.stdout)
    told = querymill("job", "show", job_id, "--json")
    assert "\x9b" not in told.stdout
    assert json.loads(told.stdout)["reason"] == "[/x]\x1b]0;PWN\x07\x9b2J"


@pytest.mark.nightly  # by day: test_doctor.py
def test_doctor_masks_secrets_and_mends_what_does_not_answer(deployment: Deployment) -> None:
    settings = deployment.environment | {
        "MONGODB_URI": "mongodb://u:hidden@127.0.0.1:1/x",
        "OPENAI_API_KEY": "sk-hidden",
    }
    run = CommandLine(settings)("doctor", "--json")
    assert run.returncode == 3
    findings = {finding["name"]: finding for finding in json.loads(run.stdout)}
    assert findings["board"]["ok"]
    assert findings["PostgreSQL"]["ok"]
    assert not findings["MongoDB"]["ok"]
    assert "MONGODB_URI" in findings["MongoDB"]["mend"]
    assert "hidden" not in run.stdout


@pytest.mark.nightly  # by day: unit/versions, unit/producers
def test_of_a_document_that_stands_in_a_file_several_times_the_last_line_counts(
    querymill: CommandLine, database: psycopg.Connection, worker: WorkerProcess, tmp_path: Path
) -> None:
    collection = f"versions-{uuid4().hex[:12]}"
    # The one in the middle takes so long that the last would be stored before it.
    versions = [session(f"s{n}", *["hello"] * length, ids=[None] * length) for n in range(3) for length in (1, 200, 2)]
    path = write(tmp_path / "sessions.jsonl", *(version.model_dump_json() for version in versions))
    done = json.loads(querymill("ingest", "messages", path, "--collection", collection, "--json").stdout)
    assert done["ingested"] == 9
    database.execute("SELECT set_config('querymill.collection', %s, false)", [collection])
    counted = database.execute(
        "SELECT count(*) FROM chat_messages WHERE collection = %s GROUP BY session_id", [collection]
    )
    assert [count for (count,) in counted] == [2] * 3


@pytest.mark.usefixtures("filings", "openai_server")
def test_documents_come_from_a_pipe_as_from_a_file(querymill: CommandLine) -> None:
    collection = f"piped-{uuid4().hex[:12]}"
    given = "\n".join((json.dumps(report("p1")), '{"title": "no pages"}', json.dumps(report("p2"))))
    run = querymill("ingest", "reports", "-", "--collection", collection, "--json", given=given)
    assert run.returncode == 1, run.stderr
    done = json.loads(run.stdout)
    assert (done["ingested"], done["bad_line_count"], done["failed_count"]) == (2, 1, 0)
    assert [line["line"] for line in done["bad_lines"]] == [2]
    one = querymill("ingest", "reports", "-", "--collection", collection, given=f"{json.dumps(report('p3'))}\n{{}}\n")
    assert one.stdout.startswith("1 ingested (1 passage), 0 unchanged, 0 failed, 1 bad line")
    nothing = querymill("ingest", "reports", "-", "--collection", collection, given="{}\n")
    assert nothing.returncode == 2
    assert "holds no line that can be loaded" in nothing.stderr


def test_files_come_from_a_pipe_as_json_lines(querymill: CommandLine, worker: WorkerProcess) -> None:
    collection = f"piped-{uuid4().hex[:12]}"
    given = '{"path": "a.py", "content": "def restore():\\n    return 1\\n"}\n'
    for expected in ("ingested", "unchanged"):
        run = querymill("ingest", "files", "-", "--collection", collection, "--json", given=given)
        assert run.returncode == 0, run.stderr
        assert json.loads(run.stdout)[expected] == 1


@pytest.mark.parametrize("command", all_at_night(["worker", "migrate", "gateway", "jobs"], short=["worker", "jobs"]))
def test_a_setting_that_breaks_a_rule_is_one_line_in_every_command(command: str) -> None:
    run = CommandLine({"REDIS_URL": "127.0.0.1:6379"})(command)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("REDIS_URL: must be a URL"), run.stderr


def test_a_migration_that_cannot_reach_the_database_says_so(querymill: CommandLine) -> None:
    away = CommandLine({"DATABASE_URL": "postgresql://querymill:HUNTER2@127.0.0.1:1/querymill"})("migrate")
    assert (away.returncode, "HUNTER2" in away.stderr) == (3, False)
    assert away.stderr.startswith("DATABASE_URL: ")
    assert querymill("migrate").returncode == 0


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (("batch", "reports", "/nope.jsonl", "--collection", "c", "--out", "r.jsonl"), "path"),
        (("embed", "/nope.jsonl", "--out", "v.jsonl"), "path"),
        (("rerank", "/nope.json"), "FILE"),
        (("answer", "/nope.json"), "FILE"),
    ],
)
def test_a_file_that_does_not_exist_is_named(querymill: CommandLine, command: tuple[str, ...], named: str) -> None:
    run = querymill(*command)
    path = next(word for word in command if word.startswith("/nope"))
    assert (run.returncode, run.stderr.strip()) == (2, f"{named}: {path}: no such file")


def test_what_does_not_run_is_not_said_to_be_stopped(querymill: CommandLine, tmp_path: Path) -> None:
    run = querymill("down", "--data", tmp_path / "nothing")
    assert (run.returncode, run.stdout.strip()) == (0, f"nothing runs in {tmp_path / 'nothing'}")


@pytest.mark.usefixtures("filings", "openai_server")
def test_a_job_that_is_done_shows_its_hits(querymill: CommandLine) -> None:
    found = json.loads(querymill("search", "reports", "revenue of Nordhav", "--collection", "filings", "--json").stdout)
    shown = json.loads(querymill("job", "show", found["job_id"], "--json").stdout)
    assert shown["hits"] == len(found["results"]) > 0


def test_a_gateway_says_where_it_listens(deployment: Deployment) -> None:
    command = [str(Path(sys.executable).with_name("querymill")), "gateway", "--port", "0"]
    with subprocess.Popen(command, env=os.environ | deployment.environment, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        said = run.stdout.readline()
        run.terminate()
    assert re.match(r"Gateway: http://127\.0\.0\.1:[1-9]\d* · console at /console · Ctrl-C stops it\n", said), said
