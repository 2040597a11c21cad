"""Labels: they belong to a job and not to its question, lead back to it, and let a later job supersede a former one."""

import json
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from querymill_shared.board import Board, ValkeyBoard, Verdict, exchanges, keys
from querymill_shared.board.counts import read_label_counts
from querymill_shared.board.exchanges import Exchange
from querymill_shared.board.labelling import key_mark, label_mark, marked
from querymill_shared.board.submitting import Submitted
from querymill_shared.contracts.errors import IdempotencyConflict, Overloaded
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.settings import Settings
from tests.fixtures.boards import claimed, on_both_servers

SEARCH = ReportSearch(query="revenue?", collection="filings", deadline=60)
TURN = SubmitOptions(supersedes={"session": "42"})
KEYED = SubmitOptions(idempotency_key="once", supersedes={"session": "42"})


def asked(number: int, **fields: str) -> ReportSearch:
    return SEARCH.model_copy(update={"query": f"revenue of {number}?"} | fields)


def labelled(**labels: str) -> SubmitOptions:
    return SubmitOptions(labels=labels)


def state_of(board: Board, job_id: str) -> str:
    return board.picture(job_id).for_caller().record.state


def listed(board: ValkeyBoard, mark: str) -> list[str]:
    return [str(job_id) for shard in keys.SHARDS for job_id in board._client.zrange(marked(shard, mark), 0, -1)]


@on_both_servers
def test_equal_questions_share_their_work_and_each_has_its_own_labels(board: ValkeyBoard) -> None:
    first, _ = board.submit(SEARCH, labelled(user="ada", turn="1"))
    second, starts_work = board.submit(SEARCH, labelled(user="bob"))
    plain, _ = board.submit(SEARCH)
    assert not starts_work
    assert claimed(board, first).labels == {"user": "ada", "turn": "1"}
    result = json.dumps({"job_id": first, "results": [{"labels": {}}]}, separators=(",", ":"))
    assert board.settle(first, Verdict("done", result=result))
    wanted = {first: {"user": "ada", "turn": "1"}, second: {"user": "bob"}, plain: {}}
    for job_id, labels in wanted.items():
        assert board.picture(job_id).record.labels == labels
        told = json.loads(board.result(job_id) or "")
        assert told == ({"labels": labels} if labels else {}) | {"job_id": job_id, "results": [{"labels": {}}]}


def test_a_key_leads_to_its_first_job_and_that_keeps_its_labels(board: Board) -> None:
    first, _ = board.submit(SEARCH, SubmitOptions(idempotency_key="turn", labels={"user": "ada"}))
    again = board.submit(SEARCH, SubmitOptions(idempotency_key="turn", labels={"user": "bob"}))
    assert again == (first, False)
    assert board.picture(first).record.labels == {"user": "ada"}


def test_a_job_is_listed_under_its_labels_and_its_key(board: ValkeyBoard) -> None:
    job_id, _ = board.submit(SEARCH, SubmitOptions(idempotency_key="k", labels={"user": "ada", "session": "42"}))
    joined, _ = board.submit(SEARCH, labelled(user="ada"))
    assert sorted(listed(board, label_mark("user", "ada"))) == sorted([job_id, joined])
    assert listed(board, label_mark("session", "42")) == listed(board, key_mark("k")) == [job_id]
    assert board.recent(idempotency_key="k") == board.recent(labels={"user": "ada"}, idempotency_key="k") == [job_id]
    assert board.recent(labels={"user": "bob"}, idempotency_key="k") == board.recent(idempotency_key="other") == []
    board.settle(job_id, Verdict("cancelled"))
    board.settle(joined, Verdict("cancelled"))
    assert read_label_counts(board._client, limit=2) == [("user", "ada", 2), ("session", "42", 1)]


@on_both_servers
def test_a_later_turn_supersedes_those_before_it(board: ValkeyBoard) -> None:
    plain, _ = board.submit(asked(1), labelled(session="42"))
    turn, _ = board.submit(asked(2), TURN)
    assert (state_of(board, plain), state_of(board, turn)) == ("cancelled", "queued")
    assert board.picture(plain).record.reason == f"superseded by job {turn}"
    after, _ = board.submit(asked(3), labelled(session="42"))
    last, _ = board.submit(asked(4), TURN)
    assert [state_of(board, job_id) for job_id in (turn, after, last)] == ["cancelled", "cancelled", "queued"]
    assert board.picture(last).record.labels == {"session": "42"}


def test_a_replayed_job_is_superseded(board: Board) -> None:
    former, _ = board.submit(asked(1), labelled(session="42"))
    board.settle(former, Verdict("dead", reason="it kills its workers"))
    assert board.replay(former)
    board.submit(asked(2), TURN)
    assert state_of(board, former) == "cancelled"


def test_nobody_is_superseded_by_another_tenant_or_owner_or_session(board: Board) -> None:
    mine = TURN.owned_by("web")
    others = [
        board.submit(asked(1), labelled(session="42"))[0],
        board.submit(asked(2), labelled(session="42").owned_by("batch"))[0],
        board.submit(asked(3, collection="other"), labelled(session="42").owned_by("web"))[0],
        board.submit(asked(4), labelled(session="43").owned_by("web"))[0],
    ]
    former, _ = board.submit(asked(5), mine)
    board.submit(asked(6), mine)
    assert {state_of(board, job_id) for job_id in others} == {"queued"}
    assert state_of(board, former) == "cancelled"


def test_a_turn_that_asks_the_same_again_takes_the_work_over(board: Board) -> None:
    first, _ = board.submit(SEARCH, TURN)
    again, starts_work = board.submit(SEARCH, TURN)
    assert not starts_work
    assert (state_of(board, first), state_of(board, again)) == ("cancelled", "queued")
    assert board.settle(first, Verdict("done", result="{}"))
    assert state_of(board, again) == "done"


def test_a_turn_that_is_not_accepted_cancels_nothing(board: Board) -> None:
    former, _ = board.submit(asked(1), SubmitOptions(idempotency_key="k", supersedes={"session": "42"}))
    with pytest.raises(IdempotencyConflict):
        board.submit(asked(2), SubmitOptions(idempotency_key="k", supersedes={"session": "42"}))
    board.report_backlog({"search": 100.0})
    with pytest.raises(Overloaded):
        board.submit(asked(3), TURN)
    assert state_of(board, former) == "queued"


def test_a_turn_that_is_sent_again_cancels_nothing(board: Board) -> None:
    first, _ = board.submit(asked(1), KEYED)
    later, _ = board.submit(asked(2), labelled(session="42"))
    assert board.submit(asked(1), KEYED) == (first, False)
    assert (state_of(board, first), state_of(board, later)) == ("queued", "queued")


def accepted_only(board: ValkeyBoard, settings: Settings, number: int) -> tuple[Exchange[Submitted], Sequence[Any]]:
    """Submit a turn until it is accepted, and no further. Return the rest, and what it is to be sent next."""
    exchange = exchanges.submit(asked(number), settings, KEYED)
    calls = next(exchange)
    while calls[0].script != "accept_turn":
        calls = exchange.send(board._run_all(calls))
    return exchange, calls


def test_a_turn_that_is_sent_again_does_what_its_submitter_died_before(board: ValkeyBoard, settings: Settings) -> None:
    former, _ = board.submit(asked(1), TURN)
    accepted_only(board, settings, 2)
    first, starts_work = board.submit(asked(2), KEYED)
    assert not starts_work
    assert (state_of(board, former), state_of(board, first)) == ("cancelled", "queued")


def test_a_turn_that_is_sent_again_or_refused_does_not_end_one_that_is_on_its_way(
    board: ValkeyBoard, settings: Settings
) -> None:
    exchange, calls = accepted_only(board, settings, 1)
    first, _ = board.submit(asked(1), KEYED)
    with pytest.raises(IdempotencyConflict):
        board.submit(asked(2), KEYED)
    with suppress(StopIteration):
        while True:
            calls = exchange.send(board._run_all(calls))
    assert state_of(board, first) == "queued"


@pytest.mark.parametrize("is_same", [False, True], ids=["different questions", "one question"])
def test_of_turns_that_are_submitted_at_once_one_alone_goes_on(board: Board, *, is_same: bool) -> None:
    with ThreadPoolExecutor(16) as callers:
        submitted = list(callers.map(lambda number: board.submit(asked(0 if is_same else number), TURN)[0], range(64)))
    states = Counter(state_of(board, job_id) for job_id in submitted)
    assert states == {"cancelled": 63, "queued": 1}


def test_what_another_program_writes_as_labels_is_none(board: ValkeyBoard) -> None:
    job_id, _ = board.submit(SEARCH, labelled(user="ada"))
    (job,) = keys.of_job(job_id, "job")
    for written in ("no JSON", '"text"', '{"user":7.5}', '{"":""}'):
        board._client.hset(job, "labels", written)
        assert board.picture(job_id).record.labels == {}
    assert board.settle(job_id, Verdict("cancelled"))


def test_a_job_that_another_program_wrote_over_is_superseded_no_more(board: ValkeyBoard) -> None:
    former, _ = board.submit(asked(1), TURN)
    (job,) = keys.of_job(former, "job")
    board._client.delete(job)
    board._client.set(job, "x")
    later, is_new = board.submit(asked(2), TURN)
    assert is_new
    assert state_of(board, later) == "queued"


def test_the_latest_jobs_are_listed_by_all_labels(board: Board) -> None:
    jobs = [board.submit(asked(number), labelled(user="ada", turn=str(number % 2)))[0] for number in range(6)]
    assert set(board.recent(labels={"user": "ada"})) == set(jobs)
    assert set(board.recent(labels={"user": "ada", "turn": "1"})) == set(jobs[1::2])
    assert board.recent(labels={"user": "bob"}) == []
