"""`querymill record` and `querymill replay`: searches of real workers are kept, asked again, and compared."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from querymill import Querymill, ReportSearch
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import finish_embedding
from tests.fixtures.gateways import PATIENCE_S

pytestmark = pytest.mark.usefixtures("worker", "openai_server")
PAGES = ["Nine ships sail from Bergen.", "The harbour of Bergen is deep.", "Ships pay a fee in the harbour."]


@pytest.fixture
def fleet(mill: Querymill) -> str:
    """A collection with one report of three pages, each with its vector."""
    collection = f"fleet-{uuid4().hex[:8]}"
    pages = [{"page": number, "text": text} for number, text in enumerate(PAGES, start=1)]
    mill.ingest("reports", [{"sha1": "r1", "title": "Fleet", "pages": pages}], collection=collection)
    finish_embedding(mill)
    return collection


def asked_and_judged(mill: Querymill, collection: str, *queries: str) -> dict[str, str]:
    """Ask questions and judge the best hit of each. Return that one by the id of its job."""
    best_of = {}
    for query in queries:
        search = ReportSearch(query=query, collection=collection, return_parent_pages=True, deadline=60)
        job = mill.submit(search)
        best = job.result(timeout=PATIENCE_S).results[0]
        best_of[job.id] = f"{best.document}/{best.page}"
        job.feedback(f"{best.document}/page/{best.page}", 3).result(timeout=PATIENCE_S)
    return best_of


def recorded(querymill: CommandLine, day: Path) -> dict[str, dict[str, Any]]:
    """Record the latest searches. Return the lines by their ids."""
    run = querymill("record", day, "--limit", "50")
    assert run.returncode == 0, run.stderr
    return {line["_id"]: line for line in map(json.loads, day.read_text().splitlines())}


def test_a_recorded_search_is_asked_again_with_other_fields(
    mill: Querymill, querymill: CommandLine, fleet: str, tmp_path: Path
) -> None:
    day = tmp_path / "day.jsonl"
    ((job_id, best),) = asked_and_judged(mill, fleet, "How many ships sail?").items()
    line = recorded(querymill, day)[job_id]
    assert line["outcome"]["found"][0] == best
    day.write_text(json.dumps(line) + "\n")
    run = querymill("replay", day, "--option", "top_n=1", "--json")
    assert run.returncode == 0, run.stderr
    figures = json.loads(run.stdout)
    assert (figures["compared_with"], figures["options"], figures["searches"]) == ("unchanged", {"top_n": 1}, 1)
    assert figures["overlap@10"]["mean"] == pytest.approx(1 / 3)
    assert (figures["judged"], figures["ndcg@10"]["before"], figures["ndcg@10"]["after"]) == (1, 1.0, 1.0)
    assert figures["speed"]["before"]["p50_ms"] > 0


@pytest.mark.nightly
def test_a_day_is_compared_with_what_was_found_then(
    mill: Querymill, querymill: CommandLine, fleet: str, tmp_path: Path
) -> None:
    day = tmp_path / "day.jsonl"
    asked = asked_and_judged(mill, fleet, "How many ships sail?", "Is the harbour deep?")
    lines = recorded(querymill, day)
    assert recorded(querymill, day) == lines  # what is recorded once is not recorded again
    bad = {"_id": "bad", "request": {"kind": "drop_documents", "retriever": "reports", "collection": fleet}}
    day.write_text("\n".join(map(json.dumps, [*(lines[job_id] for job_id in asked), bad])) + "\n")
    then = querymill("replay", day, "--json")
    assert (then.returncode, "line 3: request.kind: must be a search" in then.stderr) == (1, True), then.stderr
    figures = json.loads(then.stdout)
    assert (figures["compared_with"], figures["searches"], figures["left_out"]) == ("recorded", 2, 1)
    assert (figures["overlap@10"]["mean"], figures["same_first"], figures["ranks_moved"]) == (1.0, 2, 0.0)
    again = recorded(querymill, tmp_path / "again.jsonl")
    assert asked.keys() <= again.keys() <= lines.keys()  # nobody asked what the replay asked


def test_what_cannot_be_asked_again_is_named_before_anything_is(querymill: CommandLine, tmp_path: Path) -> None:
    day = tmp_path / "day.jsonl"
    day.write_text(json.dumps({"request": {"kind": "messages", "collection": "chats", "query": "ships?"}}) + "\n")
    unfit = querymill("replay", day, "--option", "company=Acme")
    assert unfit.returncode == 2
    assert "1: company: is no field of a search of kind 'messages'" in unfit.stderr
    assert "holds no search that can be asked again so" in unfit.stderr
    unknown = querymill("replay", day)
    assert (unknown.returncode, "outcome: is not recorded" in unknown.stderr) == (2, True)
    nowhere = querymill("replay", tmp_path / "none.jsonl")
    assert (nowhere.returncode, "no such file" in nowhere.stderr) == (2, True)
    day.write_text("no recording\n")
    foreign = querymill("record", day)
    assert (foreign.returncode, "line 1 is no line of a recording" in foreign.stderr) == (2, True)
    assert day.read_text() == "no recording\n"
