"""Conversations and their ranks from the command line to the database and back, through a real worker."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from querymill import JobFailed, Querymill, RankList, RankListResult, RecomputeRanks
from tests.fakes.worker import WorkerProcess
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import finish_embedding

POOL = "postgres connectionPool exhausted, pool_timeout raised while the workers restarted"


@pytest.fixture
def collection(worker: WorkerProcess, mill: Querymill) -> Iterator[str]:
    yield f"talks-{uuid4().hex[:12]}"
    finish_embedding(mill)


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Three sessions, the second of which comes back to the first, and a line that is none."""
    sessions = [
        {"session_id": name, "started_at": f"2026-01-0{day}T10:00:00Z",
         "messages": [{"message_id": "a", "role": "user", "text": text}]}
        for day, (name, text) in enumerate([("first", POOL), ("second", POOL), ("third", "tomato soup")], start=1)
    ]  # fmt: skip
    lines = [json.dumps(one) for one in sessions]
    lines.insert(1, '{"session_id": "bad", "messages": []}')
    path = tmp_path / "sessions.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def settled(mill: Querymill, collection: str) -> RankListResult:
    """Wait until no session waits for an update."""
    deadline = time.monotonic() + 20
    while True:
        listed = mill.submit(RankList(collection=collection)).result(10)
        if listed.waiting == 0:
            return listed
        assert time.monotonic() < deadline
        time.sleep(0.1)


def references(listed: RankListResult) -> dict[str, float]:
    return {one.session_id: one.references for one in listed.results}


def test_ranks_follow_what_comes_in_live_messages_and_deletions(
    mill: Querymill, querymill: CommandLine, collection: str, export: Path, tmp_path: Path
) -> None:
    loaded = querymill("ingest", "conversations", export, "--collection", collection, "--json")
    assert loaded.returncode == 1
    summary = json.loads(loaded.stdout)
    assert (summary["ingested"], summary["messages"]) == (3, 3)
    assert summary["bad_lines"] == [{"line": 2, "reason": "started_at: Field required; messages: List should have at"
                                     " least 1 item after validation, not 0"}]  # fmt: skip
    again = querymill("ingest", "conversations", export, "--collection", collection, "--json")
    assert json.loads(again.stdout)["unchanged"] == 3
    assert references(settled(mill, collection)) == {"first": 0.5, "second": 0, "third": 0}

    update = tmp_path / "update.json"
    told = {"session_id": "third", "messages": [{"message_id": "b", "role": "user", "text": f"last time: {POOL}"}]}
    update.write_text(json.dumps(told), encoding="utf-8")
    extended = querymill("extend", "conversations", update, "--collection", collection)
    assert "third ingested, 2 messages" in extended.stdout
    assert references(settled(mill, collection)) == {"first": 1.5, "second": 0.5, "third": 0}

    dropped = querymill("drop", "conversations", "second", "--collection", collection, "--yes")
    assert "1 document of conversations dropped from" in dropped.stdout
    assert references(settled(mill, collection)) == {"first": 1, "third": 0}


def test_a_rebuild_gives_what_updates_gave_and_says_what_it_did(
    mill: Querymill, querymill: CommandLine, collection: str, export: Path
) -> None:
    querymill("ingest", "conversations", export, "--collection", collection)
    before = settled(mill, collection)
    rebuilt = json.loads(querymill("ranks", "rebuild", "--collection", collection, "--json").stdout)
    assert (rebuilt["total"], rebuilt["references"], rebuilt["scope"]) == (3, 1, "all")
    after = settled(mill, collection)
    parts = {"base", "depth", "reference", "quality", "references"}
    assert [one.model_dump(include=parts) for one in after.results] == [
        one.model_dump(include=parts) for one in before.results
    ]
    pages = querymill("ranks", "rebuild", "--collection", collection, "--mode", "pagerank")
    assert "3 sessions, 1 references between them" in pages.stdout
    shown = querymill("ranks", "show", "--collection", collection)
    assert shown.stdout.splitlines()[1].split()[:1] == ["first"]
    assert settled(mill, collection).results[0].reference == 1


def test_ranks_of_a_collection_that_is_not_there_are_refused(mill: Querymill, collection: str) -> None:
    for request in (RecomputeRanks(collection=collection), RankList(collection=collection)):
        with pytest.raises(JobFailed, match="no conversations in"):
            mill.submit(request).result(15)
