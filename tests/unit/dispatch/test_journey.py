"""One step of any kind of job: what becomes of it when it works, fails, or is not there to be done."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.board import Claim, MemoryBoard, Picture, Verdict
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.contracts.errors import UnreadableJob
from querymill_shared.contracts.events import StageFinished
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.rerank import Rerank, RerankCandidate
from querymill_shared.settings import Settings
from querymill_workers.dispatch import journey
from querymill_workers.dispatch.journey import BACKOFF_S, DURABLE_BACKOFF_S, run_step, try_again_or_fail
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import Refused, Unavailable
from tests.fakes.models import WordEmbeddings
from tests.fakes.ports import memory_ports

#: Durable, and of one step.
EMBED = EmbedTexts(collection="c", texts=(TextToEmbed(id="1", text="nine ships"),))
#: Of one step, with a deadline.
RERANK = Rerank(query="q", collection="c", hits=(RerankCandidate(id="1", text="t", score=1.0),), deadline=30)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class UnreadableBoard(MemoryBoard):
    """Holds requests that this release cannot read."""

    def claim(self, job_id: str, step: str) -> Claim | None:
        raise UnreadableJob(job_id, "its request has no kind that this release knows")

    def picture(self, job_id: str) -> Picture:
        return replace(super().picture(job_id), request=None, unreadable="no kind that this release knows")


class Watched:
    """A heartbeat that notes for which claims it beat, and whether it still does."""

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
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ports(clock: Clock) -> Ports:
    return memory_ports(board=MemoryBoard(Settings(), clock=clock), heartbeat=Watched(), max_attempts=3)


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


def test_what_another_attempt_may_mend_is_put_back_and_then_done(ports: Ports, clock: Clock) -> None:
    bell = submitted(ports)
    failing(ports, Unavailable("embedding unavailable: HTTP 503"))
    assert run_step(bell, ports) == []
    (step,) = ports.board.picture(bell.job_id).steps
    assert (step.state, step.reason) == ("waiting", "embedding unavailable: HTTP 503")
    (told,) = [e for _, e in ports.board.events(bell.job_id) if isinstance(e, StageFinished)]
    assert (told.state, told.reason) == ("retrying", "embedding unavailable: HTTP 503")
    clock.now += DURABLE_BACKOFF_S[0]
    failing(ports, None)
    run_step(bell, ports)
    assert record(ports, bell) == ("done", "")


def test_what_no_attempt_would_mend_fails_at_once(ports: Ports) -> None:
    bell = submitted(ports)
    failing(ports, Refused("embedding rejected: HTTP 400"))
    assert run_step(bell, ports) == []
    assert record(ports, bell) == ("failed", "embedding rejected: HTTP 400")


def test_a_step_that_keeps_failing_is_given_up_after_its_attempts(ports: Ports) -> None:
    bell = submitted(ports)
    failing(ports, Unavailable("away"))
    for attempt in range(1, 4):
        assert record(ports, bell)[0] == ("queued" if attempt == 1 else "running")
        run_step(bell, ports)
    assert record(ports, bell) == ("failed", "away")


def test_a_bug_is_tried_again_and_its_message_is_told_to_nobody(ports: Ports) -> None:
    bell = submitted(ports)
    failing(ports, ZeroDivisionError("the secret text of a passage"))
    for _ in range(3):
        run_step(bell, ports)
    assert record(ports, bell) == ("failed", "internal error: ZeroDivisionError")
    assert "secret" not in repr(ports.board.events(bell.job_id))


def test_a_durable_step_waits_longer_each_time_and_no_shorter_than_the_provider_asks(
    ports: Ports, clock: Clock
) -> None:
    bell = submitted(ports)
    for error, wait in [(Unavailable("away"), 1.0), (Unavailable("paused", again_in_s=25.0), 25.0)]:
        failing(ports, error)
        run_step(bell, ports)
        clock.now += wait - 0.01
        assert ports.board.due() == []
        clock.now += 0.02
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


@pytest.mark.parametrize(("expires_in", "waits"), [(1_000.0, BACKOFF_S), (None, DURABLE_BACKOFF_S)])
@given(attempt=st.integers(1, 40))
def test_the_wait_grows_to_its_longest_and_stays_there(
    attempt: int, expires_in: float | None, waits: tuple[float, ...]
) -> None:
    postponed: list[float] = []

    class Board(MemoryBoard):
        def postpone(self, held: Claim, *, delay_s: float, reason: str) -> bool:
            postponed.append(delay_s)
            return True

    ports = memory_ports(board=Board(Settings()), max_attempts=99)
    expires = None if expires_in is None else ports.clock() + expires_in
    claim = Claim("j", "embed", attempt, EMBED, expires, 0.0)
    assert try_again_or_fail(claim, "away", ports) == []
    assert postponed == [waits[min(attempt, len(waits)) - 1]]


def test_a_durable_job_that_no_release_here_can_read_fails_at_once_with_the_reason(clock: Clock) -> None:
    ports = memory_ports(board=UnreadableBoard(Settings(), clock=clock))
    bell = submitted(ports)
    assert run_step(bell, ports) == []
    assert record(ports, bell) == ("failed", "no kind that this release knows")


def test_a_job_with_a_deadline_waits_for_a_worker_that_can_read_it(clock: Clock) -> None:
    ports = memory_ports(board=UnreadableBoard(Settings(), clock=clock))
    bell = submitted(ports, RERANK)
    assert run_step(bell, ports) == []
    assert record(ports, bell)[0] == "queued"
    journey.fail_unreadable(ports.board.picture(bell.job_id), ports, past_deadline=True)
    assert record(ports, bell) == ("failed", "no kind that this release knows")


def test_a_step_that_was_cancelled_under_way_changes_nothing_any_more(ports: Ports) -> None:
    bell = submitted(ports)
    claim = ports.board.claim(bell.job_id, bell.step)
    assert claim is not None
    ports.board.settle(bell.job_id, Verdict("cancelled"))
    assert journey.fail(claim, "too late", ports) == []
    assert record(ports, bell) == ("cancelled", "")


def test_a_job_without_its_request_is_neither_advanced_nor_settled(ports: Ports) -> None:
    bell = submitted(ports)
    picture = replace(ports.board.picture(bell.job_id), request=None)
    assert journey.conclude(picture, ports) == []
    journey.settle_at_deadline(picture, ports)
    assert record(ports, bell)[0] == "queued"
