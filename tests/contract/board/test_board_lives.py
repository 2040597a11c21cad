"""Worker processes that live and die, and what they hold."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from querymill_shared.board import Board, Claims, Outcome, Verdict, keys, lives
from querymill_shared.board.connections import open_commands
from querymill_shared.board.scripts import source
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.contracts.events import StageFinished
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.hits import BoardHit
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings
from tests.fixtures.boards import claimed, empty_board

LEASE = 0.3
A, B = "a@host#1", "b@host#1"
SEARCH = ReportSearch(
    query="revenue?",
    collection="filings",
    hyde=True,
    multi_query=("synonym", "subquestion", "variant"),
    deadline=60,
)
EXPANDING = ("hyde", "synonym", "subquestion", "variant")


@pytest.fixture
def board(valkey_url: str) -> Iterator[Board]:
    settings = Settings(redis_url=valkey_url, querymill_lease_s=LEASE, querymill_ring_grace_s=60)
    with empty_board(settings) as board:
        board.beat(A, {"name": "a@host", "queues": ["search"], "slots": 4, "host": "host", "pid": 7})
        yield board


def submitted(board: Board) -> str:
    job_id, _ = board.submit(SEARCH)
    return job_id


def names(claims: Claims) -> list[str]:
    return [claim.step for claim in claims.held]


def test_a_process_that_wakes_while_it_is_taken_for_dead_stays_on_the_list(board: Board, valkey_url: str) -> None:
    """It holds steps again, and nobody would put them back if it died now."""
    with open_commands(valkey_url) as client:
        before: Any = client.zscore(keys.WORKERS, A)
        time.sleep(0.005)
        board.beat(A, {"name": "a@host"})
        for beat_at, is_struck_off in ((before, False), (client.zscore(keys.WORKERS, A), True)):
            dropping = lives.drop(A, beat_at=beat_at)
            returned = client.eval(source(dropping.script), len(dropping.keys), *dropping.keys, *dropping.args)
            assert dropping.parse(returned) is is_struck_off
            assert [worker.life for worker in board.workers()] == ([] if is_struck_off else [A])


def test_one_call_claims_the_steps_of_one_queue(board: Board) -> None:
    claims = board.claim_steps(submitted(board), "hyde", life=A, limit=10)
    assert names(claims) == list(EXPANDING)
    assert all((claim.attempt, claim.life, claim.request) == (1, A, SEARCH) for claim in claims.held)
    assert claims.left is None


def test_what_a_process_has_no_thread_for_is_named_for_another(board: Board) -> None:
    job_id = submitted(board)
    claims = board.claim_steps(job_id, "hyde", life=A, limit=3)
    assert (names(claims), claims.left) == (["hyde", "synonym", "subquestion"], "variant")
    assert names(board.claim_steps(job_id, "variant", life=B, limit=3)) == ["variant"]
    assert names(board.claim_steps(job_id, "original", life=B, limit=3)) == ["original"]


def test_with_one_thread_one_step_is_claimed(board: Board) -> None:
    claims = board.claim_steps(submitted(board), "subquestion", life=A, limit=1)
    assert (names(claims), claims.left) == (["subquestion"], "hyde")


def test_a_step_that_is_held_brings_no_other(board: Board) -> None:
    job_id = submitted(board)
    board.claim_steps(job_id, "hyde", life=A, limit=1)
    assert board.claim_steps(job_id, "hyde", life=B, limit=5) == Claims()
    assert [step.state for step in board.picture(job_id).steps[2:]] == ["waiting"] * 3


def test_a_step_that_was_put_back_is_claimed_by_its_own_bell_only(board: Board) -> None:
    job_id = submitted(board)
    board.postpone(claimed(board, job_id, "synonym"), delay_s=60, reason="provider away", cause="outage")
    assert names(board.claim_steps(job_id, "hyde", life=A, limit=10)) == ["hyde", "subquestion", "variant"]


def test_added_steps_are_claimed_together_if_their_queue_is_known(board: Board) -> None:
    job_id = submitted(board)
    board.add_steps(job_id, ["first", "second", "third"], queue_of=lambda _: Queue.RANKS)
    board.add_steps(job_id, ["unlisted"])
    assert names(board.claim_steps(job_id, "second", life=A, limit=10)) == ["second", "first", "third"]
    assert names(board.claim_steps(job_id, "unlisted", life=A, limit=10)) == ["unlisted"]


def test_every_step_is_claimed_once_however_many_claim_at_once(board: Board) -> None:
    job_id = submitted(board)
    found: list[str] = []

    def claim(step: str) -> None:
        found.extend(names(board.claim_steps(job_id, step, life=A, limit=3)))

    workers = [threading.Thread(target=claim, args=(step,)) for step in SEARCH.steps * 3]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(found) == sorted(SEARCH.steps)


def test_a_held_step_needs_no_renewal(board: Board) -> None:
    job_id = submitted(board)
    board.claim_steps(job_id, "original", life=A, limit=1)
    time.sleep(LEASE + 0.1)
    assert board.claim(job_id, "original") is None
    assert board.due() == []


def test_the_steps_of_a_dead_process_are_put_back_and_due_at_once(board: Board) -> None:
    job_id = submitted(board)
    first = board.claim_steps(job_id, "hyde", life=A, limit=2).held[0]
    board.beat(B, {"name": "b@host"})
    other = board.claim_steps(job_id, "original", life=B, limit=1).held[0]
    assert sorted(board.release_life(A)) == [(job_id, "hyde"), (job_id, "synonym")]
    assert {(due.job_id, due.step) for due in board.due()} == {(job_id, "hyde"), (job_id, "synonym")}
    steps = {step.name: step for step in board.picture(job_id).steps}
    assert (steps["hyde"].state, steps["hyde"].reason) == ("waiting", "its worker died")
    assert [event for _, event in board.events(job_id)][-1].model_copy(update={"stage": "hyde"}) == StageFinished(
        stage="hyde", state="retrying", reason="its worker died"
    )
    assert board.finish(first, Outcome()) is None
    assert board.finish(other, Outcome()) is not None
    assert board.claim_steps(job_id, "hyde", life=B, limit=1).held[0].attempt == 2


def test_a_planned_stop_is_no_death(board: Board) -> None:
    job_id = submitted(board)
    board.claim_steps(job_id, "original", life=A, limit=1)
    assert board.release_life(A, planned=True) == [(job_id, "original")]
    (step,) = [step for step in board.picture(job_id).steps if step.name == "original"]
    assert (step.state, step.reason) == ("waiting", "its worker was stopped")
    assert (step.counts.deaths, step.counts.pauses, step.counts.spent) == (0, 1, 0)
    assert board.counts().leases_lost == 0


def test_a_process_that_was_stopped_claims_nothing_more_whatever_it_has_on_its_way(board: Board) -> None:
    job_id = submitted(board)
    board.claim_steps(job_id, "original", life=A, limit=1)
    for _ in range(2):
        board.release_life(A, planned=True)
        assert board.claim_steps(job_id, "original", life=A, limit=9) == Claims()
        assert board.claim_steps(job_id, "hyde", life=A, limit=9) == Claims()
    board.release_life(A)  # as others do if its last beat came after it had withdrawn
    assert board.claim_steps(job_id, "original", life=A, limit=9) == Claims()
    assert board.claim_steps(job_id, "original", life=B, limit=1).held
    assert board.claim_steps(job_id, "hyde", life="a@host#2", limit=1).held


def test_a_process_that_was_taken_for_dead_may_go_on(board: Board) -> None:
    job_id = submitted(board)
    board.release_life(A)
    assert board.claim_steps(job_id, "original", life=A, limit=1).held


def test_a_process_that_holds_a_step_is_listed_so_that_others_notice_its_death(board: Board, valkey_url: str) -> None:
    def listed() -> list[str]:
        return sorted(worker.life for worker in board.workers())

    job_id = submitted(board)
    board.claim_steps(job_id, "original", life=B, limit=1)  # its first beat was lost
    assert listed() == [A, B]
    assert board.release_life(B) == [(job_id, "original")]  # it stood still, or the clock of the board's server went on
    assert listed() == [A]
    board.claim_steps(job_id, "original", life=B, limit=1)
    assert listed() == [A, B]
    with open_commands(valkey_url) as client:
        client.flushdb()
    again = submitted(board)
    board.claim_steps(again, "original", life=B, limit=1)
    assert listed() == [B]
    board.beat(B, {"name": "b@host", "slots": 3})
    board.claim_steps(again, "hyde", life=B, limit=1)
    assert [worker.slots for worker in board.workers()] == [3]


def test_a_dead_process_that_a_server_struck_off_and_then_lost_what_it_had_put_back_is_missed(
    board: Board, valkey_url: str
) -> None:
    """Its last second is lost in the middle of the burial, of which the list is the end."""
    board.beat(B, {"name": "b@host"})
    (held,) = board.claim_steps(job_id := submitted(board), "original", life=B, limit=1).held
    with open_commands(valkey_url) as client:
        client.zrem(keys.WORKERS, B)
        client.hdel(keys.ABOUT_WORKERS, B)
    assert board.list_missing_lives() == [B]
    assert board.list_missing_lives() == []
    time.sleep(LEASE)
    assert board.beat(A, {"name": "a@host"}) == [B]
    assert board.release_life(B) == [(job_id, held.step)]
    assert board.list_missing_lives() == []


def test_what_a_process_holds_is_known_though_another_program_wrote_over_that(board: Board, valkey_url: str) -> None:
    job_id = submitted(board)
    with open_commands(valkey_url) as client:
        for key in (keys.held(job_id[0], A), keys.lives(job_id[0])):
            assert names(board.claim_steps(job_id, "original", life=A, limit=1)) == ["original"]
            board.release_life(A)
            client.delete(key)
            client.set(key, "of another program")
        assert names(board.claim_steps(job_id, "hyde", life=A, limit=1)) == ["hyde"]
    assert board.release_life(A) == [(job_id, "hyde")]


@pytest.mark.parametrize("is_put_back", [True, False], ids=["put back", "postponed"])
def test_a_step_that_waits_again_is_rung_as_soon_as_one_that_waits_for_the_first_time(
    valkey_url: str, *, is_put_back: bool
) -> None:
    with empty_board(Settings(redis_url=valkey_url, querymill_ring_grace_s=1)) as board:
        job_id, _ = board.submit(
            EmbedTexts(collection="c", texts=(TextToEmbed(id="t", text="revenue"),), deadline=None)
        )
        for _ in range(4):
            (held,) = board.claim_steps(job_id, "embed", life=B, limit=1).held
            if is_put_back:
                board.release_life(B)
            else:
                board.postpone(held, delay_s=0, reason="the model is away", cause="outage")
            (rung,) = board.due()
            assert rung.job_id == job_id
            assert 1.5 < board.due_in() <= 2


def test_what_a_living_process_holds_without_knowing_is_put_back_and_no_death(board: Board) -> None:
    job_id = submitted(board)
    kept, *_ = board.claim_steps(job_id, "hyde", life=A, limit=2).held
    assert board.put_back_lost(A, [kept], held_for_s=60) == []  # it may be about to keep it
    assert board.put_back_lost(A, [kept], held_for_s=0) == [(job_id, "synonym")]
    assert [(due.job_id, due.step) for due in board.due()] == [(job_id, "synonym")]
    (step,) = [step for step in board.picture(job_id).steps if step.name == "synonym"]
    assert (step.state, step.reason) == ("waiting", "the reply to its claim was lost")
    assert (step.counts.deaths, step.counts.outages, step.counts.spent) == (0, 1, 0)
    assert board.put_back_lost(A, [kept], held_for_s=0) == []
    assert board.release_life(A) == [(job_id, "hyde")]


def test_a_process_that_is_buried_twice_loses_nothing_of_its_next_life(board: Board) -> None:
    job_id = submitted(board)
    board.claim_steps(job_id, "original", life=A, limit=1)
    board.release_life(A)
    board.beat("a@host#2", {"name": "a@host"})
    again = board.claim_steps(job_id, "original", life="a@host#2", limit=1).held[0]
    assert board.release_life(A) == []
    assert board.finish(again, Outcome()) is not None


def test_a_closed_or_postponed_step_is_held_by_nobody(board: Board) -> None:
    job_id = submitted(board)
    done, later = board.claim_steps(job_id, "hyde", life=A, limit=2).held
    board.finish(done, Outcome())
    board.postpone(later, delay_s=60, reason="provider away", cause="outage")
    assert board.release_life(A) == []
    assert board.picture(job_id).steps[2].reason == "provider away"


def test_the_steps_of_an_ended_job_are_held_by_nobody(board: Board) -> None:
    job_id = submitted(board)
    board.claim_steps(job_id, "hyde", life=A, limit=2)
    board.settle(job_id, Verdict("cancelled"))
    assert board.release_life(A) == []
    assert board.due() == []


def test_a_step_taken_over_meanwhile_is_not_put_back_again(board: Board) -> None:
    """As when its lease ran out, because its worker hangs."""
    job_id = submitted(board)
    board.claim(job_id, "original")
    time.sleep(LEASE + 0.05)
    taken_over = board.claim_steps(job_id, "original", life=B, limit=1).held[0]
    assert board.release_life(A) == []
    assert board.finish(taken_over, Outcome()) is not None


def test_a_process_is_listed_with_what_it_is_and_when_it_was_heard_of(board: Board) -> None:
    board.beat(B, {"name": "b@host", "queues": [], "slots": 1, "unknown": "field"})
    last, first = board.workers()
    assert (last.life, last.name) == (B, "b@host")
    assert (first.life, first.name, first.queues, first.slots) == (A, "a@host", ("search",), 4)
    assert (first.host, first.pid) == ("host", 7)
    assert 0 <= last.beat_age_s <= first.beat_age_s < 5


def test_a_silent_process_is_reported_to_the_others_until_it_beats_or_is_buried(board: Board) -> None:
    def is_heard_of() -> bool:
        beaten = time.monotonic()
        board.beat(A, {})
        # Unless the machine stood still meanwhile.
        return board.beat(B, {}) == [] or time.monotonic() - beaten >= LEASE

    assert is_heard_of()
    time.sleep(LEASE + 0.05)
    assert board.beat(B, {}) == [A]
    board.release_life(A)
    assert board.beat(B, {}) == []
    assert [worker.life for worker in board.workers()] == [B]
    assert is_heard_of()


def test_what_another_program_wrote_about_workers_is_passed_over(valkey_url: str) -> None:
    with empty_board(Settings(redis_url=valkey_url)) as board:
        client = board._client
        for life, about in {"x": "[1]", "y#1": "no JSON", "z#1": '{"queues": 7, "slots": "many", "pid": []}'}.items():
            client.zadd("qm:{workers}", {life: 1})
            client.hset("qm:{workers}:about", life, about)
        assert {worker.life: worker.name for worker in board.workers()} == {"x": "", "y#1": "y", "z#1": "z"}
        job_id = submitted(board)
        board.beat(A, {})
        board.claim_steps(job_id, "original", life=A, limit=1)
        shard = job_id[0]
        client.sadd(f"qm:{{{shard}}}:held:{A}", "garbage", "no such 1", f"{job_id} hyde 1", f"{job_id} none 9")
        client.set(f"qm:{{{'0' if shard != '0' else '1'}}}:held:{A}", "no set")
        assert board.release_life(A) == [(job_id, "original")]


def test_of_a_job_that_is_done_the_board_keeps_what_readers_need(board: Board) -> None:
    job_id = submitted(board)
    claims = [*board.claim_steps(job_id, "hyde", life=A, limit=10).held, claimed(board, job_id)]
    hits = tuple(BoardHit(f"r/page/{page}", 0.5, page) for page in range(20))
    for claim in claims:
        board.take_queries(claim, [f"text of {claim.step}"], rivals=SEARCH.steps)
        board.finish(claim, Outcome(hits={f"text of {claim.step}": hits}, notes={"reason": "because " * 20}))
    told = board.events(job_id)
    board.settle(job_id, Verdict("done", result="{}"))
    picture = board.picture(job_id)
    assert [(step.name, step.state, step.attempt, step.notes) for step in picture.steps] == [
        (step, "done", 1, {}) for step in SEARCH.steps
    ]
    assert all(step.started and step.ended for step in picture.steps)
    assert (dict(picture.hits), picture.queries, picture.request) == ({}, {}, None)
    assert board.events(job_id)[: len(told)] == told
    assert board.result(job_id) == "{}"


def test_a_failed_job_keeps_what_its_steps_found(board: Board) -> None:
    job_id = submitted(board)
    board.finish(claimed(board, job_id), Outcome(notes={"found": 3}))
    board.settle(job_id, Verdict("failed", reason="no reply"))
    picture = board.picture(job_id)
    assert picture.steps[0].notes == {"found": 3}
    assert picture.request == SEARCH


def test_a_job_that_is_done_takes_little_memory_and_goes_in_time(valkey_url: str) -> None:
    settings = Settings(redis_url=valkey_url, querymill_result_ttl_s=60)
    with empty_board(settings) as board, open_commands(valkey_url, decode_responses=False) as client:
        job_id = submitted(board)
        for step in SEARCH.steps:
            board.finish(claimed(board, job_id, step), Outcome(notes={"reason": "because " * 20}))
        board.settle(job_id, Verdict("done", result="{}" * 500))
        known = [key for key in client.scan_iter(f"*{job_id}*") if not key.endswith(b":trail")]
        (trail,) = client.scan_iter(f"*{job_id}:trail")
        assert (client.memory_usage(trail, samples=0) or 0) < 1_500  # it stays for days
        assert sum(client.memory_usage(key, samples=0) or 0 for key in known) < 5_000
        assert all(0 < client.pttl(key) <= 60_000 for key in known)


def test_the_picture_comes_with_the_first_step_that_ends_and_with_the_last(board: Board) -> None:
    job_id = submitted(board)
    claims = {claim.step: claim for claim in board.claim_steps(job_id, "hyde", life=A, limit=10).held}
    claims["original"] = claimed(board, job_id)
    assert board.finish(claims["synonym"], Outcome(state="failed", reason="no reply")) is None
    told_at = time.monotonic()
    assert board.finish(claims["original"], Outcome()) is not None
    soon = board.finish(claims["hyde"], Outcome())
    assert soon is None or time.monotonic() - told_at >= 0.1, "unless the machine stood still meanwhile"
    time.sleep(0.11)
    told = board.finish(claims["subquestion"], Outcome())
    assert told is not None
    assert told.record.told is not None
    last = board.finish(claims["variant"], Outcome(state="failed", reason="no reply"))
    assert last is not None
    assert last.record.open_steps == 0
