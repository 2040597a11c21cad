"""Ends of jobs that callers are to be told of: noted with the end, and due until the job that tells them is there."""

import time

import pytest
import redis

from querymill_shared.board import Board, Due, ValkeyBoard, Verdict, keys
from querymill_shared.contracts.callbacks import OPEN_CALLBACK, Callback, CallbackEvent, OpenCallback
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.settings import Settings

EMBED = EmbedTexts(collection="filings", texts=(TextToEmbed(id="a", text="x"),), into="table")
SEARCH = ReportSearch(query="revenue?", collection="filings", deadline=60)
URL = "https://hooks.example/jobs"


@pytest.fixture
def settings(valkey_url: str) -> Settings:
    return Settings(redis_url=valkey_url, querymill_ring_grace_s=0.1)


def called(*events: CallbackEvent) -> SubmitOptions:
    return SubmitOptions(callback=Callback(url=URL, events=events) if events else Callback(url=URL)).owned_by("key-1")


def due(board: Board) -> list[Due]:
    return [entry for entry in board.due() if entry.callback]


def read(entry: Due) -> OpenCallback:
    return OPEN_CALLBACK.validate_json(entry.callback)


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict("done", result="{}", complete=False),
        Verdict("failed", reason="of its own text", code="store_down"),
        Verdict("cancelled"),
        Verdict("dead", reason="no worker"),
    ],
)
def test_every_end_that_is_asked_for_is_due_with_all_that_is_told(board: Board, verdict: Verdict) -> None:
    silent, _ = board.submit(EMBED, called(*({"done", "failed", "cancelled", "dead"} - {verdict.state})))  # type: ignore[arg-type]
    job_id, _ = board.submit(EMBED, called())
    assert due(board) == []
    for ended in (silent, job_id):
        board.settle(ended, verdict)
    (entry,) = due(board)
    told = read(entry)
    assert (told.job_id, told.kind, told.collection, told.owner) == (job_id, "embed", "filings", "key-1")
    assert (told.state, told.complete, told.code) == (verdict.state, verdict.complete, verdict.code)
    assert told.callback.url == URL
    assert told.created <= told.ended
    assert "of its own text" not in entry.callback


def test_it_is_due_until_the_job_that_tells_is_there(board: Board) -> None:
    job_id, _ = board.submit(EMBED, called())
    board.settle(job_id, Verdict("done", result="{}"))
    (entry,) = due(board)
    assert due(board) == []  # whoever asked has a moment
    time.sleep(0.15)
    assert due(board) == [entry]
    board.called_back(entry, job_id=job_id, delivery="d1")
    board.called_back(entry, job_id=job_id, delivery="d1")
    time.sleep(0.15)
    assert due(board) == []
    assert board.picture(job_id).record.deliveries == ("d1",)


def test_a_job_that_is_gone_is_told_of(board: Board) -> None:
    job_id, _ = board.submit(EMBED, called())
    board.settle(job_id, Verdict("done", result="{}"))
    assert board.release(job_id)
    (entry,) = due(board)
    assert read(entry).job_id == job_id
    board.called_back(entry, job_id=job_id, delivery="d1")
    assert due(board) == []


def test_callers_that_share_work_are_each_told_of_their_own_job(board: Board) -> None:
    leader, _ = board.submit(SEARCH, called())
    follower, starts_work = board.submit(SEARCH, called())
    silent, _ = board.submit(SEARCH)
    assert not starts_work
    board.settle(leader, Verdict("cancelled"))
    (left,) = map(read, due(board))
    assert (left.job_id, left.state) == (leader, "cancelled")
    board.settle(leader, Verdict("failed", reason="r", code="lost"))
    (ended,) = map(read, due(board))
    assert (ended.job_id, ended.state, ended.code) == (follower, "failed", "lost")
    record = board.picture(follower).record
    assert (record.owner, record.callback != "") == ("key-1", True)
    assert board.picture(silent).record.callback == ""


def test_a_dead_job_that_is_replayed_is_told_of_again(board: Board) -> None:
    job_id, _ = board.submit(EMBED, called())
    board.settle(job_id, Verdict("dead", reason="r"))
    (dead,) = due(board)
    board.called_back(dead, job_id=job_id, delivery="d1")
    assert board.replay(job_id)
    time.sleep(0.01)
    board.settle(job_id, Verdict("done", result="{}"))
    (done,) = due(board)
    assert read(dead).to_tell().message.id != read(done).to_tell().message.id
    board.called_back(done, job_id=job_id, delivery="d2")
    assert board.picture(job_id).record.deliveries == ("d1", "d2")


def test_only_an_elected_sweeper_is_told_of_it(board: ValkeyBoard) -> None:
    job_id, _ = board.submit(EMBED, called())
    board.settle(job_id, Verdict("done", result="{}"))
    assert board.elect("one", keys.SHARDS, term_s=60) == keys.SHARDS
    assert board.due(sweeper="another") == []
    assert [entry.callback != "" for entry in board.due(sweeper="one")] == [True]


def test_what_another_program_wrote_keeps_no_job_from_its_end(board: Board, server: redis.Redis) -> None:
    job_id, _ = board.submit(EMBED, called())
    listed = keys.prefix(job_id[0]) + "callbacks"
    server.set(listed, "not ours")
    assert board.settle(job_id, Verdict("done", result="{}"))
    assert board.due_in() <= 0
    (told,) = due(board)  # the list began again, and its caller is told nevertheless
    assert told.callback is not None
    other, _ = board.submit(EMBED, called())
    (record,) = keys.of_job(other, "job")
    server.hset(record, "callback", "no JSON")
    assert board.settle(other, Verdict("done", result="{}"))
    assert due(board) == []
