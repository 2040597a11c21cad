"""The board's clock never goes back, and neither do the versions of writes, whatever the server's clock does."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

import pytest
import redis

from querymill_shared.board import Claim, Outcome, ValkeyBoard, Verdict, calls, keys, ordering
from querymill_shared.board.calls import VersionUnknown
from querymill_shared.board.scripts import source
from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.contracts.errors import UnreadableJob
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.settings import Settings
from tests.fixtures.boards import claimed
from tests.fixtures.clocks import SteppedServer, stepped_server

DROP = DropDocuments(retriever="reports", collection="acme", everything=True)
EMBED = EmbedTexts(collection="acme", texts=(TextToEmbed(id="1", text="a"),), into="table")
STEPS = (-3_600, -5, -1)


@pytest.fixture(scope="module")
def server() -> Iterator[SteppedServer]:
    with stepped_server() as running:
        yield running


@dataclass
class World:
    """A board beside stores, and a clock to step."""

    settings: Settings
    step: Callable[[int], None]
    #: The largest version that is stored, and how often that was asked.
    stored_us: int = 0
    asked: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.board = ValkeyBoard.connect(self.settings, largest_stored=self.largest_stored)

    def largest_stored(self, at_least_us: int) -> int:
        self.asked.append(at_least_us)
        return self.stored_us if self.stored_us >= at_least_us else 0

    def claim(self, job_id: str, request: JobRequest) -> Claim:
        return claimed(self.board, job_id, request.steps[0])

    def version(self, request: JobRequest = DROP) -> int:
        """Return the version of a write that is accepted now."""
        version = self.claim(self.board.submit(request)[0], request).accepted_us
        assert version is not None
        self.stored_us = max(self.stored_us, version)
        return version


def open_world(request: pytest.FixtureRequest, *, is_empty: bool = True, stored_us: int = 0) -> World:
    settings = Settings(querymill_lease_s=2, querymill_ring_grace_s=1, querymill_result_ttl_s=30)
    server: SteppedServer = request.getfixturevalue("server")
    if is_empty:
        server.kill()
        server.lose_data()
        server.step(0)
        server.start()
    on_server = settings.model_copy(update={"redis_url": server.url})
    world = World(on_server, server.step, stored_us)
    request.addfinalizer(world.board.close)
    return world


@pytest.fixture
def world(request: pytest.FixtureRequest) -> World:
    return open_world(request)


def run_decision(client: redis.Redis, largest_us: int = 0) -> int:
    """Decide versions as a worker does that then waits for the disk."""
    deciding = ordering.decide(VersionUnknown(1, 0), largest_us=largest_us)
    return int(client.eval(source("decide"), len(deciding.keys), *deciding.keys, *deciding.args))


@pytest.mark.parametrize("request_", [DROP, EMBED], ids=["drop", "embed"])
@pytest.mark.parametrize("step", STEPS)
def test_no_version_is_below_the_last_when_the_clock_steps_back(
    world: World, step: int, request_: JobRequest
) -> None:  # fmt: skip
    before = [world.version(request_), world.version()]
    world.step(step)
    after = [world.version(request_), world.version(), world.version(request_)]
    assert sorted(before + after) == before + after
    assert len(set(before + after)) == 5


def test_what_was_written_in_a_wrong_future_is_older_than_what_comes_after_it(world: World) -> None:
    first = world.version()
    world.step(3_600)
    future = world.version()
    world.step(0)
    assert first < future < world.version()
    assert future - first > 3_500_000_000


def test_a_worker_that_is_killed_when_the_clock_steps_back_is_replaced_as_soon_as_ever(world: World) -> None:
    job_id, _ = world.board.submit(DROP)
    world.claim(job_id, DROP)
    world.step(-3_600)
    time.sleep(0.5)
    assert world.board.claim(job_id, "drop") is None
    until = time.monotonic() + 20
    while (taken_over := world.board.claim(job_id, "drop")) is None:
        assert time.monotonic() < until, "the lease lies in the future"
        time.sleep(0.1)
    assert (taken_over.attempt, taken_over.counts.deaths) == (2, 1)


def test_what_a_dead_worker_claimed_a_moment_before_the_clock_stepped_back_is_put_back(world: World) -> None:
    job_id, _ = world.board.submit(EMBED)  # which notes the clock, as no call does within the second after it
    time.sleep(0.5)
    assert world.board.claim_steps(job_id, "embed", life="a#1", limit=1).held
    world.step(-5)
    assert world.board.release_life("a#1") == [(job_id, "embed")]


def test_a_report_of_a_backlog_refuses_nothing_for_an_hour_when_the_clock_steps_back(world: World) -> None:
    """Its writer has died, nobody reports anew, and the server keeps it until its clock is where it was."""
    world.board.report_backlog({"search": 100.0})
    world.step(-3_600)
    assert world.board.submit(ReportSearch(query="q", collection="acme", deadline=10))[1]


def test_what_is_due_and_a_deadline_come_when_they_should_have_come(world: World) -> None:
    search = ReportSearch(query="ships", collection="acme", deadline=2)
    job_id, _ = world.board.submit(search)
    world.step(-3_600)
    due: set[str | None] = set()
    until = time.monotonic() + 20
    while not {None, "original"} <= due:
        assert time.monotonic() < until, due
        due |= {entry.step for entry in world.board.due() if entry.job_id == job_id}
        time.sleep(0.05)
    assert time.monotonic() - (until - 20) < 10


def test_a_life_that_falls_silent_after_the_step_is_noticed(world: World) -> None:
    world.board.beat("dead", {})
    world.step(-3_600)
    until = time.monotonic() + 20
    while "dead" not in world.board.beat("alive", {}):
        assert time.monotonic() < until
        time.sleep(0.1)
    assert all(life.beat_age_s >= 0 for life in world.board.workers())


def test_the_times_of_a_job_are_in_order_and_the_day_is_that_of_the_server(world: World) -> None:
    job_id, _ = world.board.submit(DROP)
    world.step(-3_600)
    held = world.claim(job_id, DROP)
    world.board.finish(held, Outcome())
    world.board.settle(job_id, Verdict("done", result="{}"))
    record, (step,) = world.board.picture(job_id).record, world.board.picture(job_id).steps
    assert record.ended is not None
    assert step.started is not None
    assert record.created <= step.started <= record.ended < record.created + 10
    assert held.asked_at == pytest.approx(time.time() - 3_600, abs=20)


def test_a_board_that_lost_its_data_gives_versions_above_what_is_stored(request: pytest.FixtureRequest) -> None:
    """So does one that was moved to a server whose clock is behind: what it has no record of, the stores have."""
    former = open_world(request)
    former.step(60)
    stored = [former.version(), former.version()][-1]
    server: SteppedServer = request.getfixturevalue("server")
    server.kill()
    server.lose_data()
    server.step(-3_600)
    server.start()
    world = open_world(request, is_empty=False, stored_us=stored)
    writes: tuple[JobRequest, ...] = (DROP, EMBED, DROP)
    jobs = [(world.board.submit(write)[0], write) for write in writes]
    versions = [world.claim(job_id, write).accepted_us or 0 for job_id, write in jobs]
    assert stored < versions[0] < versions[1] < versions[2] < world.version()


def test_writes_keep_their_order_whichever_is_begun_first_after_a_loss(request: pytest.FixtureRequest) -> None:
    ahead_us = round((time.time() + 600) * 1_000_000)
    world = open_world(request, stored_us=ahead_us)
    first, second = world.board.submit(DROP)[0], world.board.submit(DROP)[0]
    late, early = world.claim(second, DROP), world.claim(first, DROP)
    assert (early.accepted_us or 0) < (late.accepted_us or 0)
    assert (early.accepted_us or 0) > ahead_us
    assert len(world.asked) == 1


def test_no_write_is_begun_before_the_decision_about_versions_is_on_the_disk(world: World) -> None:
    """A server that lost that decision would decide again, and raise the first write over the second."""
    first, second = world.board.submit(DROP)[0], ""
    client = redis.Redis.from_url(world.settings.redis_url, decode_responses=True)
    with closing(client):
        decided = run_decision(client)
        second = world.board.submit(DROP)[0]  # while the worker that decided waits for the disk
        claiming = calls.claim(second, "drop", lease_s=2)
        returned = claiming.parse(client.eval(source("claim"), len(claiming.keys), *claiming.keys, *claiming.args))
        assert isinstance(returned, VersionUnknown)
        assert returned.number == decided
    late, early = world.claim(second, DROP), world.claim(first, DROP)
    assert (early.accepted_us or 0) < (late.accepted_us or 0)


def test_what_was_decided_is_not_decided_again_after_a_loss(world: World) -> None:
    """The server loses the confirmation, and a write that was stored since; the older one keeps its version."""
    first = world.board.submit(DROP)[0]
    client = redis.Redis.from_url(world.settings.redis_url)
    with closing(client):
        run_decision(client)
        on_disk = client.dump("qm:{0}:clock") or b""
        newer = world.version()
        client.restore("qm:{0}:clock", 0, on_disk, replace=True)
        client.eval(source("doubt"), 1, *ordering.doubt().keys)
    assert (world.claim(first, DROP).accepted_us or 0) < newer < world.version()


def test_an_old_copy_of_the_board_gives_versions_above_what_was_stored_since(request: pytest.FixtureRequest) -> None:
    """A replica that lagged behind, or a backup: the board has its record of versions, but not the last of them."""
    former = open_world(request)
    accepted_before, _ = former.board.submit(DROP)
    known = former.version()
    server: SteppedServer = request.getfixturevalue("server")
    server.kill()
    server.start()
    world = open_world(request, is_empty=False, stored_us=known + 600_000_000)
    version = world.version()
    assert version > known + 600_000_000
    # What was accepted before the loss keeps its place: a write that stands was accepted after it.
    before = world.claim(accepted_before, DROP).accepted_us
    assert before is not None
    assert before < known


def test_a_restart_alone_changes_no_version(request: pytest.FixtureRequest) -> None:
    former = open_world(request)
    former.stored_us = former.version()
    server: SteppedServer = request.getfixturevalue("server")
    server.kill()
    server.start()
    world = open_world(request, is_empty=False, stored_us=former.stored_us)
    before = round(time.time() * 1_000_000)
    assert before <= world.version() <= round(time.time() * 1_000_000)
    assert len(world.asked) == 1
    world.version()
    assert len(world.asked) == 1


def test_a_search_joins_none_from_before_the_server_was_started(world: World) -> None:
    """It may have lost with its last second that the collection changed, of which callers were told."""
    search = ReportSearch(query="q", collection="acme", deadline=10)
    before, _ = world.board.submit(search)
    world.claim(before, search)
    with closing(redis.Redis.from_url(world.settings.redis_url)) as client:
        client.script_flush()
    assert world.board.submit(search)[1]
    assert not world.board.submit(search)[1]


def test_a_search_is_begun_though_nobody_knows_what_is_stored(world: World) -> None:
    search = ReportSearch(query="ships", collection="acme")
    world.claim(world.board.submit(search)[0], search)
    assert world.asked == []


def test_another_programs_key_in_the_place_of_the_clock_stops_nobody(request: pytest.FixtureRequest) -> None:
    world = open_world(request)
    first = world.version()
    with closing(redis.Redis.from_url(request.getfixturevalue("server").url)) as client:
        client.delete("qm:{0}:clock")
        client.set("qm:{0}:clock", "of another program")
    assert world.version() > first


@pytest.mark.parametrize("is_confirmed", [False, True])
def test_the_number_of_a_question_that_another_program_wrote_is_not_counted_up_to(
    world: World, *, is_confirmed: bool
) -> None:
    """The server would do nothing else for hours."""
    if is_confirmed:
        world.version()
    spoiled, _ = world.board.submit(DROP)
    with closing(redis.Redis.from_url(world.settings.redis_url)) as client:
        for key in ("qm:{0}:clock", *keys.of_job(spoiled, "job")):
            client.hset(key, "asked", 10**15)
    assert world.claim(spoiled, DROP).accepted_us < world.version()


@pytest.mark.parametrize("number", ["9e99", "x", "99999999999999999999", "-1"])
@pytest.mark.parametrize("field_", ["version", "asked", "confirmed", "decided", "base"])
def test_a_number_of_the_clock_that_another_program_wrote_stops_no_write(
    request: pytest.FixtureRequest, field_: str, number: str
) -> None:
    """No version is above those that are to come, and none below what is stored, which is ten minutes ahead here."""
    ahead_us = round((time.time() + 600) * 1_000_000)
    world = open_world(request, stored_us=ahead_us)
    first = world.version()
    with closing(redis.Redis.from_url(world.settings.redis_url)) as client:
        client.hset("qm:{0}:clock", field_, number)
        second = world.version()
        client.hset("qm:{0}:clock", field_, number)
        client.script_flush()  # as a server that was started
        world.stored_us = still_ahead_us = second + 600_000_000
        third = world.version()
    assert ahead_us < first < second < ahead_us + 60_000_000
    assert still_ahead_us < third < still_ahead_us + 60_000_000


@pytest.mark.parametrize("number", ["x", "9e99"])
def test_what_was_decided_is_not_decided_again_though_another_program_wrote_over_that(
    world: World, number: str
) -> None:
    """The server has lost the confirmation before, and the clock of the stores is ahead of its own."""
    first = world.board.submit(DROP)[0]
    with closing(redis.Redis.from_url(world.settings.redis_url)) as client:
        decided = run_decision(client)
        client.eval(source("confirm"), 1, *ordering.confirm(decided).keys, decided)
        newer = world.version()
        client.hdel("qm:{0}:clock", "confirmed")
        client.hset("qm:{0}:clock", "decided", number)
        client.eval(source("doubt"), 1, *ordering.doubt().keys)
    world.stored_us = ahead_us = newer + 600_000_000
    assert (world.claim(first, DROP).accepted_us or 0) < newer
    assert world.version() > ahead_us


def test_later_writes_stay_later_though_another_program_wrote_over_what_is_decided_but_not_confirmed(
    request: pytest.FixtureRequest,
) -> None:
    """The same question is asked again: the answer of before stands for those that were accepted since, too."""
    ahead_us = round((time.time() + 600) * 1_000_000)
    world = open_world(request, stored_us=ahead_us)
    first = world.board.submit(DROP)[0]
    with closing(redis.Redis.from_url(world.settings.redis_url)) as client:
        run_decision(client, ahead_us)
        client.hset("qm:{0}:clock", "decided", "x")
    second = world.board.submit(DROP)[0]
    versions = [world.claim(each, DROP).accepted_us or 0 for each in (first, second)] + [world.version()]
    assert ahead_us < versions[0] < versions[1] < versions[2]


@pytest.mark.parametrize("number", ["9e99", "x", "99999999999999999999"])
@pytest.mark.parametrize("is_confirmed", [False, True])
def test_a_job_whose_version_another_program_wrote_is_left_and_bars_no_later_write(
    world: World, number: str, *, is_confirmed: bool
) -> None:
    if is_confirmed:
        world.version()
    world.stored_us = round((time.time() + 600) * 1_000_000)
    spoiled, _ = world.board.submit(DROP)
    with closing(redis.Redis.from_url(world.settings.redis_url)) as client:
        client.hset(keys.of_job(spoiled, "job")[0], "accepted", number)
    with pytest.raises(UnreadableJob, match="version"):
        world.claim(spoiled, DROP)
    assert world.version() < round((time.time() + 660) * 1_000_000)


def test_what_confirms_the_first_version_is_on_the_disk_before_its_write_is_begun(world: World) -> None:
    with closing(redis.Redis.from_url(world.settings.redis_url, decode_responses=True)) as client:
        waits: list[int] = []
        for _ in range(2):
            world.version()
            stats: dict[str, dict[str, int]] = client.info("commandstats")
            waits.append(stats["cmdstat_waitaof"]["calls"])
    assert waits[0] == waits[1] >= 1
