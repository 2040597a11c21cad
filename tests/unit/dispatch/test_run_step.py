"""One step of any kind of job: what becomes of it when it works, fails, or is not there to be done."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import redis

from querymill_shared.board import Claim, Claims, Picture, SetbackCounts, ValkeyBoard, Verdict
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.contracts.errors import UnreadableJob
from querymill_shared.contracts.events import StageFinished
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.rerank import Rerank, RerankCandidate
from querymill_workers.dispatch.ports import Ports
from querymill_workers.dispatch.run_step import (
    conclude,
    fail,
    fail_unreadable,
    insist,
    run_step,
    settle_at_deadline,
    try_again_or_fail,
)
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import CallFailed, Conflict, Refused, Unavailable
from tests.fakes.models import WordEmbeddings
from tests.fakes.ports import memory_ports
from tests.fixtures.boards import let_pass, new_board_of

#: Durable, and of one step.
EMBED = EmbedTexts(collection="c", texts=(TextToEmbed(id="1", text="nine ships"),))
#: Of one step, with a deadline.
RERANK = Rerank(query="q", collection="c", hits=(RerankCandidate(id="1", text="t", score=1.0),), deadline=30)


class UnreadableBoard(ValkeyBoard):
    """Holds requests that this release cannot read, left by workers for ``left_for_s`` seconds."""

    left_for_s = 0.0

    def claim_steps(self, job_id: str, step: str, *, life: str, limit: int) -> Claims:
        raise UnreadableJob(job_id, "kind: unknown", left_for_s=self.left_for_s)

    def picture(self, job_id: str) -> Picture:
        return replace(super().picture(job_id), request=None, unreadable="kind: unknown")


class Watched:
    """A heartbeat that notes for which claims it beat, and whether it still does."""

    life = ""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self.beating = False

    @contextmanager
    def keep(self, claim: Claim) -> Iterator[None]:
        self.kept.append(claim.step)
        self.beating = True
        yield
        self.beating = False


@pytest.fixture
def ports() -> Ports:
    return memory_ports(heartbeat=Watched(), max_attempts=3)


def failing(ports: Ports, error: Exception | None) -> None:
    assert isinstance(ports.embeddings, WordEmbeddings)
    ports.embeddings.fails_with = error


def submitted(ports: Ports, request: JobRequest = EMBED) -> Bell:
    job_id, _ = ports.board.submit(request)
    return Bell(job_id, request.steps[0], request.queue)


def record(ports: Ports, bell: Bell) -> tuple[str, str]:
    found = ports.board.picture(bell.job_id).record
    return found.state, found.reason


def test_a_step_that_works_ends_its_job_under_a_heartbeat(ports: Ports) -> None:
    bell = submitted(ports)
    assert run_step(bell, ports) == []
    assert record(ports, bell) == ("done", "")
    assert isinstance(ports.heartbeat, Watched)
    assert (ports.heartbeat.kept, ports.heartbeat.beating) == (["embed"], False)


@pytest.mark.parametrize("spoil", [
    lambda bell: Bell("nowhere", bell.step, bell.queue),
    lambda bell: Bell(bell.job_id, "no step of it", bell.queue),
])  # fmt: skip
def test_a_bell_for_no_job_or_no_step_of_it_does_nothing(ports: Ports, spoil: Callable[[Bell], Bell]) -> None:
    bell = submitted(ports)
    assert run_step(spoil(bell), ports) == []
    assert record(ports, bell) == ("queued", "")


def test_a_second_bell_for_a_step_that_is_done_or_held_does_nothing(ports: Ports) -> None:
    held, done = submitted(ports), submitted(ports)
    ports.board.claim(held.job_id, held.step)
    run_step(done, ports)
    assert [run_step(bell, ports) for bell in (held, done)] == [[], []]
    assert ports.board.picture(held.job_id).steps[0].attempt == 1
    assert ports.board.picture(done.job_id).steps[0].attempt == 1


def test_what_another_attempt_may_mend_is_put_back_and_then_done(ports: Ports) -> None:
    bell = submitted(ports)
    failing(ports, Unavailable("embedding unavailable: HTTP 503"))
    assert run_step(bell, ports) == []
    (step,) = ports.board.picture(bell.job_id).steps
    assert (step.state, step.reason) == ("waiting", "embedding unavailable: HTTP 503")
    (told,) = [e for _, e in ports.board.events(bell.job_id) if isinstance(e, StageFinished)]
    assert (told.state, told.reason) == ("retrying", "embedding unavailable: HTTP 503")
    let_pass(ports.board, 1.0)
    failing(ports, None)
    run_step(bell, ports)
    assert record(ports, bell) == ("done", "")


def test_what_no_attempt_would_mend_fails_at_once(ports: Ports) -> None:
    bell = submitted(ports)
    failing(ports, Refused("embedding rejected: HTTP 400"))
    assert run_step(bell, ports) == []
    assert record(ports, bell) == ("failed", "embedding rejected: HTTP 400")


def test_a_durable_step_that_keeps_failing_is_dead_after_its_attempts(ports: Ports) -> None:
    bell = submitted(ports)
    failing(ports, CallFailed("PostgreSQL: QueryCanceled"))
    for attempt in range(1, 4):
        assert record(ports, bell)[0] == ("queued" if attempt == 1 else "running")
        run_step(bell, ports)
    assert record(ports, bell) == ("dead", "PostgreSQL: QueryCanceled")


def test_a_bug_is_tried_again_and_its_message_is_told_to_nobody(ports: Ports) -> None:
    bell = submitted(ports)
    failing(ports, ZeroDivisionError("the secret text of a passage"))
    for _ in range(3):
        run_step(bell, ports)
    assert record(ports, bell) == ("dead", "internal error: ZeroDivisionError")
    assert "secret" not in repr(ports.board.events(bell.job_id))


def test_a_durable_step_waits_longer_each_time_and_no_shorter_than_the_provider_asks(ports: Ports) -> None:
    bell = submitted(ports)
    for error, wait in [(Unavailable("away"), 1.0), (Unavailable("paused", again_in_s=25.0), 25.0)]:
        failing(ports, error)
        run_step(bell, ports)
        let_pass(ports.board, max(wait / 2, error.again_in_s) - 0.01)
        assert ports.board.due() == []
        let_pass(ports.board, wait / 2 + 0.02)
        assert [due.step for due in ports.board.due()] == ["embed"]


@pytest.mark.parametrize(("not_before_s", "state"), [(20.0, "waiting"), (60.0, "failed")])
def test_a_step_whose_next_attempt_would_miss_the_deadline_fails_now(
    ports: Ports, not_before_s: float, state: str
) -> None:
    bell = submitted(ports, RERANK)
    claim = ports.board.claim(bell.job_id, bell.step)
    assert claim is not None
    try_again_or_fail(claim, "away", ports, not_before_s=not_before_s)
    (step,) = ports.board.picture(bell.job_id).steps
    assert (step.state, step.reason) == (state, "away")


def test_a_conflict_is_tried_again_soon_and_counted_apart(ports: Ports) -> None:
    bell = submitted(ports)
    failing(ports, Conflict("PostgreSQL: LockNotAvailable"))
    for _ in range(20):
        run_step(bell, ports)
    assert ports.board.picture(bell.job_id).steps[0].counts == SetbackCounts(conflicts=20)
    let_pass(ports.board, 3.0)
    assert [due.step for due in ports.board.due()] == ["embed"]
    failing(ports, None)
    run_step(bell, ports)
    assert record(ports, bell) == ("done", "")


def test_an_outage_costs_time_and_no_attempt(ports: Ports) -> None:
    bell = submitted(ports)
    failing(ports, Unavailable("away"))
    for _ in range(50):
        run_step(bell, ports)
    assert ports.board.picture(bell.job_id).steps[0].counts == SetbackCounts(outages=50)
    failing(ports, None)
    run_step(bell, ports)
    assert record(ports, bell) == ("done", "")


@pytest.mark.parametrize("error", [Unavailable("away"), Conflict("held")])
def test_a_durable_job_whose_patience_ends_is_dead(ports: Ports, error: Unavailable) -> None:
    bell = submitted(ports)
    failing(ports, error)
    let_pass(ports.board, ports.outage_patience_s - 1)
    run_step(bell, ports)
    assert record(ports, bell)[0] == "running"
    let_pass(ports.board, 2)
    run_step(bell, ports)
    assert record(ports, bell) == ("dead", str(error))


def test_a_job_with_a_deadline_waits_for_a_store_as_long_as_it_has_time(ports: Ports) -> None:
    bell = submitted(ports, RERANK)
    claim = ports.board.claim(bell.job_id, bell.step)
    assert claim is not None
    assert claim.expires_at is not None
    worn = replace(claim, counts=SetbackCounts(outages=40))
    try_again_or_fail(worn, "away", ports, cause="outage")
    assert ports.board.picture(bell.job_id).steps[0].state == "waiting"
    late = replace(claim, attempt=2, expires_at=ports.clock() + 0.1)
    assert ports.board.claim(bell.job_id, bell.step) is not None
    try_again_or_fail(late, "away", ports, cause="outage")
    assert ports.board.picture(bell.job_id).steps[0].state == "failed"


def test_a_board_that_is_away_is_an_outage_for_the_step(ports: Ports) -> None:
    bell = submitted(ports)
    failing(ports, redis.ConnectionError("refused"))
    run_step(bell, ports)
    (step,) = ports.board.picture(bell.job_id).steps
    assert (step.state, step.reason, step.counts) == ("waiting", "board: ConnectionError", SetbackCounts(outages=1))


def test_the_fate_of_a_step_is_reported_until_the_board_hears_it() -> None:
    heard: list[str] = []
    away = [redis.ConnectionError("refused"), redis.TimeoutError("silent")]

    def report() -> str:
        if away:
            raise away.pop()
        return "reported"

    assert insist(report, pause=lambda _: heard.append("paused")) == "reported"
    assert heard == ["paused", "paused"]


def test_a_step_whose_workers_keep_dying_is_not_begun_again(ports: Ports) -> None:
    bell = submitted(ports)
    for _ in range(3):
        assert ports.board.claim(bell.job_id, bell.step) is not None
        let_pass(ports.board, 11)
    run_step(bell, ports)
    assert record(ports, bell) == ("dead", "no worker finished it in 3 attempts")


def test_a_durable_job_that_nobody_can_read_waits_for_hours_and_is_then_dead_with_the_reason() -> None:
    board = new_board_of(UnreadableBoard)
    ports = memory_ports(board=board)
    bell = submitted(ports)
    for board.left_for_s, expected in (
        (0.0, ("queued", "")),
        (ports.outage_patience_s - 1, ("queued", "")),
        (ports.outage_patience_s, ("dead", "no worker of this fleet can read its request: kind: unknown")),
    ):
        assert run_step(bell, ports) == []
        assert record(ports, bell) == expected


def test_a_job_with_a_deadline_waits_for_a_worker_that_can_read_it() -> None:
    ports = memory_ports(board=new_board_of(UnreadableBoard))
    bell = submitted(ports, RERANK)
    assert run_step(bell, ports) == []
    assert record(ports, bell)[0] == "queued"
    fail_unreadable(ports.board.picture(bell.job_id), ports)
    assert record(ports, bell) == ("failed", "no worker of this fleet can read its request: kind: unknown")


def test_the_reason_is_another_if_a_worker_that_could_read_it_was_there() -> None:
    board = new_board_of(UnreadableBoard)
    ports = memory_ports(board=board)
    bell = submitted(ports, RERANK)
    ValkeyBoard.claim_steps(board, bell.job_id, bell.step, life="", limit=1)
    fail_unreadable(ports.board.picture(bell.job_id), ports)
    assert record(ports, bell) == (
        "failed",
        "its deadline passed, and the sweeper cannot read its request: kind: unknown",
    )


def test_a_step_that_was_cancelled_under_way_changes_nothing_any_more(ports: Ports) -> None:
    bell = submitted(ports)
    claim = ports.board.claim(bell.job_id, bell.step)
    assert claim is not None
    ports.board.settle(bell.job_id, Verdict("cancelled"))
    assert fail(claim, "too late", ports, code="deadline") == []
    assert record(ports, bell) == ("cancelled", "")


def test_a_job_without_its_request_is_neither_advanced_nor_settled(ports: Ports) -> None:
    bell = submitted(ports)
    picture = replace(ports.board.picture(bell.job_id), request=None)
    assert conclude(picture, ports) == []
    settle_at_deadline(picture, ports)
    assert record(ports, bell)[0] == "queued"
