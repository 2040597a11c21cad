"""What a board tells those who watch its jobs."""

import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
import redis

from querymill_shared.board import Board, Outcome, Seen, Subscription, ValkeyBoard, Verdict, WatchedBoard, keys
from querymill_shared.board.connections import open_commands
from querymill_shared.board.valkey_watching import MAX_WATCHERS
from querymill_shared.contracts.errors import UnknownJob
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.settings import Settings
from tests.fixtures.boards import claimed, on_both_servers, watched

SEARCH = ReportSearch(query="revenue?", collection="filings", deadline=60)
WATCHER = "0123456789abcdef"


@pytest.fixture
def watching(board: Board, settings: Settings) -> Iterator[WatchedBoard]:
    with watched(board) as watching:
        yield watching


@pytest.fixture
def job_id(board: Board) -> str:
    return board.submit(SEARCH)[0]


def submitted(board: Board, number: int) -> str:
    """Submit a question that differs from the others, so that it is worked alone."""
    return board.submit(SEARCH.model_copy(update={"query": f"revenue in year {number}?"}))[0]


def submitted_branches(board: Board, number: int) -> str:
    """Submit a question of several steps."""
    asked = SEARCH.model_copy(update={"query": f"revenue in year {number}?", "hyde": True, "multi_query": ("variant",)})
    return board.submit(asked)[0]


def every_event(job_id: str, after: str = "0-0") -> Subscription:
    return Subscription(job_id, every_event=True, after=after)


def the_end(job_id: str) -> Subscription:
    return Subscription(job_id, every_event=False)


def seen(watching: WatchedBoard, look: Subscription) -> Seen:
    (reply,) = watching.watch([look], WATCHER)
    assert isinstance(reply, Seen)
    return reply


def types(told: Seen) -> list[str]:
    return [event.type for event in told.told]


@on_both_servers
def test_what_was_before_is_seen_and_what_comes_after_is_told(
    board: Board, watching: WatchedBoard, job_id: str
) -> None:
    listener = watching.listen(WATCHER)
    held = claimed(board, job_id)
    before = seen(watching, every_event(job_id))
    assert (types(before), before.count) == (["queued", "stage_started"], 2)
    board.append_event(job_id, Progress(stage="original", done=1, total=2), held=held)
    board.finish(held, Outcome())
    board.settle(job_id, Verdict("done", result="{}"))
    told = listener.hear(wait_s=10)
    assert [(event.job_id, event.type, event.count) for event in told] == [
        (job_id, "progress", 3),
        (job_id, "stage_finished", 4),
        (job_id, "done", 5),
    ]
    assert [event.event_id for event in told] == [event_id for event_id, _ in board.events(job_id)][2:]
    assert [event.is_last for event in told] == [False, False, True]


def test_who_waits_for_the_end_is_told_of_nothing_else(board: Board, watching: WatchedBoard, job_id: str) -> None:
    listener = watching.listen(WATCHER)
    assert seen(watching, the_end(job_id)) == Seen((), 0)
    board.finish(claimed(board, job_id), Outcome())
    assert listener.hear(wait_s=0.05) == []
    board.settle(job_id, Verdict("failed", reason="why"))
    assert [event.type for event in listener.hear(wait_s=10)] == ["failed"]
    assert listener.hear(wait_s=0.01) == []


def picture_after_a_step(board: Board, job_id: str) -> bool:
    """Finish a step of several, and tell whether its worker was given the picture, to tell the ranking."""
    return board.finish(claimed(board, job_id, "hyde"), Outcome()) is not None


def test_the_ranking_on_the_way_is_told_unless_all_who_watch_wait_for_the_end(
    board: Board, watching: WatchedBoard
) -> None:
    unwatched, awaited, followed = (submitted_branches(board, number) for number in range(3))
    watching.watch([the_end(awaited), the_end(followed)], WATCHER)
    watching.watch([every_event(followed)], "another")
    given = {
        name: picture_after_a_step(board, job_id)
        for name, job_id in zip("uaf", (unwatched, awaited, followed), strict=True)
    }
    # Who comes later reads what was told before, so it is told while nobody watches.
    assert given == {"u": True, "a": False, "f": True}


def test_the_ranking_of_shared_work_is_told_if_any_caller_may_read_it(board: Board, watching: WatchedBoard) -> None:
    leader = submitted_branches(board, 1)
    watching.watch([the_end(leader)], WATCHER)
    follower = submitted_branches(board, 1)
    assert follower != leader
    claims = [claimed(board, leader, step) for step in ("hyde", "original")]
    watching.watch([the_end(follower)], WATCHER)
    assert board.finish(claims[0], Outcome()) is None
    watching.watch([every_event(follower)], "another")
    assert board.finish(claims[1], Outcome()) is not None


def test_who_watches_every_event_still_does_after_asking_for_the_end(
    board: Board, watching: WatchedBoard, job_id: str
) -> None:
    listener = watching.listen(WATCHER)
    for look in (every_event(job_id), the_end(job_id)):
        seen(watching, look)
    board.claim(job_id, "original")
    assert [event.type for event in listener.hear(wait_s=10)] == ["stage_started"]


def test_each_watcher_hears_by_itself(board: Board, watching: WatchedBoard, job_id: str) -> None:
    listeners = {name: watching.listen(name) for name in ("aaaa", "bbbb", "cccc")}
    for name in ("aaaa", "bbbb"):
        watching.watch([the_end(job_id)], name)
    board.settle(job_id, Verdict("cancelled"))
    assert [len(listeners[name].hear(wait_s=0.2)) for name in listeners] == [1, 1, 0]


def test_of_a_job_that_is_over_its_end_and_its_result_are_seen(
    board: Board, watching: WatchedBoard, job_id: str
) -> None:
    board.settle(job_id, Verdict("done", result='{"n": 1}'))
    end = seen(watching, the_end(job_id))
    assert (types(end), end.result) == (["done"], '{"n": 1}')
    assert types(seen(watching, every_event(job_id))) == ["queued", "done"]


def test_only_what_came_later_is_seen_by_who_knows_the_rest(board: Board, watching: WatchedBoard, job_id: str) -> None:
    board.claim(job_id, "original")
    (queued, _), _ = board.events(job_id)
    again = seen(watching, every_event(job_id, after=queued))
    assert (types(again), again.count) == (["stage_started"], 2)


def test_an_unknown_job_stands_between_the_others(watching: WatchedBoard, job_id: str) -> None:
    replies = watching.watch([the_end("0404"), every_event(job_id), every_event("")], WATCHER)
    assert [type(reply) for reply in replies] == [UnknownJob, Seen, UnknownJob]


def test_overlooked_are_the_jobs_that_went_on_ended_or_vanished(board: Board, watching: WatchedBoard) -> None:
    quiet, going_on, ended, gone = (submitted(board, number) for number in range(4))
    last = {job_id: board.events(job_id)[-1][0] for job_id in (quiet, going_on)}
    board.claim(going_on, "original")
    for job_id in (ended, gone):
        board.settle(job_id, Verdict("cancelled"))
    board.release(gone)
    looks = [every_event(job_id, last[job_id]) for job_id in last]
    looks += [the_end(job_id) for job_id in (quiet, going_on, ended, gone)]
    assert set(watching.overlooked(looks)) == {looks[1], looks[4], looks[5]}


def test_a_server_that_lost_what_was_told_last_tells_the_rest(
    board: Board, watching: WatchedBoard, job_id: str
) -> None:
    lost = every_event(job_id, "9999999999999-0")
    assert watching.overlooked([lost]) == [lost]
    assert types(seen(watching, lost)) == ["queued"]
    (queued,) = seen(watching, every_event(job_id)).told
    assert watching.overlooked([every_event(job_id, queued.event_id)]) == []
    board.settle(job_id, Verdict("cancelled"))
    assert types(seen(watching, lost)) == ["queued", "cancelled"]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_shared_result_names_each_caller(board: Board, watching: WatchedBoard, count: int) -> None:
    leader, *followers = (board.submit(SEARCH)[0] for _ in range(count + 1))
    board.settle(leader, Verdict("done", result=f'{{"job_id":"{leader}"}}'))
    assert watching.results(followers) == [f'{{"job_id":"{job_id}"}}' for job_id in followers]


def test_results_come_in_the_order_asked_for(board: Board, watching: WatchedBoard) -> None:
    jobs = [submitted(board, number) for number in range(3)]
    for number in (0, 2):
        board.settle(jobs[number], Verdict("done", result=str(number)))
    assert watching.results(jobs) == ["0", None, "2"]
    assert watching.results([]) == []


def test_the_result_of_shared_work_is_the_same_asked_for_alone_and_among_others(
    board: Board, watching: WatchedBoard
) -> None:
    jobs = [board.submit(SEARCH)[0] for _ in range(2)]
    board.settle(jobs[0], Verdict("done", result="shared"))
    assert watching.results(jobs) == ["shared", "shared"]
    assert [watching.results([job_id]) for job_id in jobs] == [["shared"], ["shared"]]


@on_both_servers
def test_closing_wakes_the_listener(watching: WatchedBoard) -> None:
    listener = watching.listen(WATCHER)
    ended = threading.Event()

    def hear() -> None:
        with suppress(redis.RedisError):
            listener.hear(wait_s=60)
        ended.set()

    threading.Thread(target=hear).start()
    time.sleep(0.1)
    watching.close()
    assert ended.wait(20)


def test_the_stream_of_a_watcher_that_died_goes_away(board: ValkeyBoard, settings: Settings, valkey_url: str) -> None:
    with watched(board) as watching, open_commands(valkey_url, decode_responses=False) as server:
        job_id, _ = board.submit(SEARCH)
        assert list(server.scan_iter("*watch:*")) == []
        seen(watching, every_event(job_id))
        assert list(server.scan_iter("*watch:*")) == []
        board.settle(job_id, Verdict("cancelled"))
        (stream,) = list(server.scan_iter("*watch:*"))
        assert 0 < server.pttl(stream) <= 600_000


def test_a_listener_deletes_what_it_has_read(board: ValkeyBoard, settings: Settings, valkey_url: str) -> None:
    with watched(board) as watching, open_commands(valkey_url, decode_responses=False) as server:
        listener = watching.listen(WATCHER)
        job_id, _ = board.submit(SEARCH)
        seen(watching, every_event(job_id))
        heard, longest = 0, 0
        for number in range(1, 2_101):
            board.append_event(job_id, Progress(stage="original", done=number, total=9_999))
            if number % 300 == 0:
                heard += len(listener.hear(wait_s=10))
                (stream,) = list(server.scan_iter("*watch:*"))
                longest = max(longest, server.xlen(stream))
        assert (heard, longest) == (2_100, 300), "what was read last time went with this read"


def test_the_end_brings_a_short_result_to_who_waits_for_it(
    board: ValkeyBoard, settings: Settings, valkey_url: str
) -> None:
    short, longer, in_part = '{"n": 1}', f'{{"n": "{"1" * 17_000}"}}', '{"n": 3}'
    with watched(board) as watching, open_commands(valkey_url, decode_responses=False) as server:
        listener = watching.listen(WATCHER)
        jobs = {result: submitted(board, number) for number, result in enumerate((short, longer, in_part))}
        watching.watch([the_end(job_id) for job_id in jobs.values()], WATCHER)
        server.hset(keys.of_job(jobs[in_part], "job")[0], "forgotten", "in part")
        for result, job_id in jobs.items():
            board.settle(job_id, Verdict("done", result=result))
        told: dict[str, str | None] = {}
        while len(told) < len(jobs):
            told |= {event.job_id: event.result for event in listener.hear(wait_s=10)}
        assert told == {jobs[short]: short, jobs[longer]: None, jobs[in_part]: None}


def test_a_reader_that_does_not_keep_up_gets_results_by_itself(
    board: ValkeyBoard, settings: Settings, valkey_url: str
) -> None:
    with watched(board) as watching, open_commands(valkey_url, decode_responses=False) as server:
        listener = watching.listen(WATCHER)
        jobs = [submitted(board, number) for number in range(1_500)]
        of_shard = [job_id for job_id in jobs if job_id[0] == jobs[0][0]][:40]
        watching.watch([the_end(job_id) for job_id in of_shard], WATCHER)
        for job_id in of_shard:
            board.settle(job_id, Verdict("done", result='{"n": 1}'))
        told = listener.hear(wait_s=10)
        assert [event.result is not None for event in told] == [True] * 32 + [False] * 8
        assert server.exists(f"{keys.prefix(jobs[0][0])}watch:{WATCHER}")


def test_a_job_has_a_limited_number_of_watchers(board: ValkeyBoard, settings: Settings, valkey_url: str) -> None:
    job_id, _ = board.submit(SEARCH)
    with watched(board) as watching, open_commands(valkey_url, decode_responses=False) as server:
        for number in range(MAX_WATCHERS + 3):
            watching.watch([the_end(job_id)], f"{number:016x}")
        (job,) = keys.of_job(job_id, "job")
        names = str(server.hget(job, "watch")).split(" ")
    assert len(names) == MAX_WATCHERS


def test_a_watchers_key_that_is_no_stream_does_not_keep_a_job_from_ending(
    board: ValkeyBoard, settings: Settings, valkey_url: str
) -> None:
    job_id, _ = board.submit(SEARCH)
    with watched(board) as watching, open_commands(valkey_url, decode_responses=False) as server:
        seen(watching, the_end(job_id))
        server.set(f"{keys.prefix(job_id[0])}watch:{WATCHER}", "no stream")
        assert board.settle(job_id, Verdict("cancelled"))
        assert types(seen(watching, the_end(job_id))) == ["cancelled"]


def test_a_server_that_forgot_the_scripts_gets_them_again(
    board: ValkeyBoard, settings: Settings, valkey_url: str
) -> None:
    job_id, _ = board.submit(SEARCH)
    with watched(board) as watching, open_commands(valkey_url, decode_responses=False) as server:
        for _ in range(2):
            server.script_flush()
            assert types(seen(watching, every_event(job_id))) == ["queued"]
            assert watching.overlooked([the_end(job_id)]) == []
