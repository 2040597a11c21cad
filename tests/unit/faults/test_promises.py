"""Each checker of a promise on histories written by hand: one that keeps the promise, and some that break it."""

from typing import Any

import pytest

from tests.faults.histories.counting import count, percentile, recovery_s
from tests.faults.histories.operations import NEVER, Operation, read_history
from tests.faults.histories.promises import PROMISES, breaches_of


def submit(begin: float, job_id: str | None, **argument: Any) -> Operation:
    seen = {"refused": argument.pop("refused")} if "refused" in argument else {"job_id": job_id}
    asked = {
        "job": "ingest_reports",
        "key": f"k{begin}",
        "body": "b",
        "durable": True,
        "deadline": None,
        "collection": "c",
    }
    return Operation("c", "submit", begin, begin, asked | argument, seen)


def end(at: float, job_id: str, state: str, **seen: Any) -> Operation:
    return Operation("c", "end", at, at, {"job_id": job_id}, {"state": state} | seen)


def wait(begin: float, end_: float, job_id: str, state: str) -> Operation:
    return Operation("c", "end", begin, end_, {"job_id": job_id}, {"state": state})


def dropped(begin: float, end_: float) -> list[Operation]:
    return [submit(begin, "drop", job="drop_documents"), end(end_, "drop", "done"), last("drop", "done")]


def last(job_id: str, state: str, *types: str, **attempts: int) -> Operation:
    ids = [f"1-{number}" for number in range(len(types))]
    seen = {"state": state, "attempts": attempts, "ids": ids, "types": list(types)}
    return Operation("board", "last", 99, 99, {"job_id": job_id}, seen)


def gone(job_id: str, trail: str | None) -> Operation:
    seen: dict[str, Any] = {"state": "unknown", "trail": trail, "ids": [], "types": []}
    return Operation("board", "last", 99, 99, {"job_id": job_id}, seen)


def events(*ids: str, types: tuple[str, ...] = (), after: str | None = None) -> Operation:
    return Operation("c", "events", 1, 2, {"job_id": "j", "after": after}, {"ids": list(ids), "types": list(types)})


def write(begin: float, end_: float, value: str | None, state: str = "done") -> Operation:
    return Operation("c", "write", begin, end_, {"document": "d", "value": value}, {"state": state})


def read(begin: float, value: str | None) -> Operation:
    return Operation("c", "read", begin, begin + 0.5, {"document": "d"}, {"value": value})


def find(begin: float, value: str, *, complete: bool = True, **values: int) -> Operation:
    seen = {"values": values, "complete": complete}
    return Operation("c", "find", begin, begin + 0.5, {"document": "d", "value": value}, seen)


def answer(given: str, *, complete: bool = True) -> Operation:
    seen = {"given": given, "complete": complete}
    return Operation("c", "answer", 0, 1, {"question": "q", "expected": "right"}, seen)


KEPT = {
    "an accepted job ends": [
        [submit(0, "j"), end(1, "j", "done"), last("j", "done")],
        [submit(0, "j", durable=False), end(1, "j", "failed"), last("j", "failed")],
        [submit(0, "j"), last("j", "dead")],
        [submit(0, "j"), end(1, "j", "failed"), last("j", "dead", "queued", "failed")],
        [submit(0, "j"), end(1, "j", "done"), last("j", "unknown")],
        # A drop took it after its end.
        [submit(0, "j"), end(1, "j", "running"), *dropped(0.5, 3), gone("j", "done")],
        [submit(0, "j"), end(4, "j", "unknown", trail="done"), *dropped(2, 3), gone("j", None)],
        [submit(0, "j"), wait(0, 4, "j", "unknown"), *dropped(2, 3), gone("j", "failed")],
        [submit(0, "j"), end(1, "j", "failed"), *dropped(2, 3), gone("j", "dead")],
    ],
    "a job ends once": [
        [events("1-0", "1-1", types=("queued", "done")), end(1, "j", "done"), last("j", "done", "queued", "done")],
        [end(1, "j", "failed"), last("j", "dead", "queued", "failed")],
    ],
    "what is done is found": [
        [write(0, 1, "x"), find(2, "x", x=1)],
        [write(0, 1, "x"), write(2, 3, "y"), find(4, "x")],
        [write(0, 1, "x"), write(2, NEVER, "y", "failed"), find(4, "x")],
        [write(0, 1, "x"), find(2, "x", complete=False)],
        [write(0, NEVER, "x", "failed"), find(2, "x")],
        [write(0, 3, "x"), find(2, "x")],
    ],
    "what is forgotten is never found": [
        [write(0, 1, "x"), find(2, "x", x=1)],
        [write(0, 1, "x"), write(2, 3, None), find(4, "x")],
        [write(0, 3, "x"), write(2, 4, None), find(5, "x", x=1)],
        [write(0, 1, "x"), write(2, 5, None), find(4, "x", x=1)],
        [write(0, 1, "x"), write(2, NEVER, None, "failed"), find(4, "x", x=1)],
    ],
    "events come once, in order and whole": [
        [events("1-0", "1-1"), last("j", "done", "queued", "stage_started", "done")],
        [events("1-1", "1-2", after="1-0"), last("j", "done", "queued", "stage_started", "done")],
        [events("9-0", "10-0")],
        [events()],
    ],
    "one key leads to one job": [
        [submit(0, "j", key="k"), submit(1, "j", key="k")],
        [submit(0, "j", key="k"), submit(1, None, key="k", body="other", refused="IdempotencyConflict")],
        [submit(0, "j", key="k"), end(1, "j", "unknown"), submit(2, "i", key="k")],
    ],
    "updates of a document are linearisable": [
        [write(0, 1, "x"), read(2, "x")],
        [write(0, 1, "x"), write(2, NEVER, None, "failed"), read(3, "x"), read(4, None)],
    ],
    "a complete result is right": [[answer("right")], [answer("less", complete=False)]],
    "nothing is cut before its time": [
        [submit(0, "j", deadline=8.0), end(2, "j", "done", degraded=["deadline"])],
        [submit(0, "j", deadline=8.0), end(1, "j", "done", degraded=["store_down"])],
        [submit(0, "j", deadline=8.0), end(8, "j", "failed", code="deadline")],
        [submit(0, "j"), end(1, "j", "failed", code="deadline")],
        [submit(0, "j", deadline=60.0), end(1, "j", "done", lost=["rank"]), last("j", "done", rank=4)],
        [submit(0, "j", deadline=60.0), end(60, "j", "done", lost=["rank"]), last("j", "done", rank=1)],
    ],
    "errors are the client's own": [
        [submit(0, None, refused="Overloaded"), submit(1, None, refused="IdempotencyConflict"), end(2, "j", "running")],
    ],
}  # fmt: skip
BROKEN = {
    "an accepted job ends": [
        ("lost", [submit(0, "j"), last("j", "unknown")]),
        ("lost", [submit(0, "j")]),
        ("gone", [submit(0, "j"), end(1, "j", "unknown"), last("j", "unknown")]),
        ("lost", [submit(0, "j"), end(1, "j", "running"), last("j", "unknown")]),
        ("gone", [submit(0, "j"), end(1, "j", "unknown"), gone("j", "done")]),
        ("lost", [submit(0, "j", collection="other"), end(9, "j", "running"), *dropped(2, 3), gone("j", "done")]),
        ("lost", [submit(0, "j"), *dropped(2, 3), gone("j", None)]),
        ("lost", [submit(0, "j"), end(1, "j", "failed"), *dropped(2, 3), gone("j", "failed")]),
        ("gone", [submit(0, "j"), wait(0, 4, "j", "unknown"), *dropped(2, 3), gone("j", "running")]),
        ("stuck", [submit(0, "j"), end(1, "j", "running"), last("j", "running")]),
        ("lost", [submit(0, "j"), end(1, "j", "failed", reason="why"), last("j", "failed")]),
    ],
    "a job ends once": [
        ("doubled", [last("j", "done", "queued", "done", "done")]),
        ("doubled", [events("1-0", "1-1", types=("done", "done"))]),
        ("doubled", [end(1, "j", "done"), end(2, "j", "failed")]),
    ],
    "what is done is found": [
        ("lost", [write(0, 1, "x"), find(2, "x")]),
        ("lost", [write(0, 1, "x"), write(2, 3, None), write(4, 5, "y"), find(6, "y")]),
        ("doubled", [write(0, 1, "x"), find(2, "x", x=2)]),
    ],
    "what is forgotten is never found": [
        ("wrong", [write(0, 1, "x"), write(2, 3, None), find(4, "x", x=1)]),
        ("wrong", [write(0, 1, "x"), write(2, 3, "y"), find(4, "y", x=1, y=1)]),
        ("wrong", [write(0, 1, "x"), write(2, 3, None), find(4, "x", x=1, complete=False)]),
    ],
    "events come once, in order and whole": [
        ("doubled", [events("1-0", "1-0")]),
        ("wrong", [events("10-0", "9-0")]),
        ("wrong", [events("1-0", "1-2"), last("j", "done", "queued", "stage_started", "done")]),
        ("wrong", [events("1-2", after="1-0"), last("j", "done", "queued", "stage_started", "done")]),
    ],
    "one key leads to one job": [
        ("doubled", [submit(0, "j", key="k"), submit(1, "i", key="k")]),
        ("wrong", [submit(0, "j", key="k"), submit(1, "i", key="k", body="other")]),
    ],
    "updates of a document are linearisable": [
        ("wrong", [write(0, 1, "x"), read(2, None)]),
        ("wrong", [write(0, 1, "x"), write(2, 3, "y"), read(4, "x")]),
    ],
    "a complete result is right": [("wrong", [answer("wrong")])],
    "nothing is cut before its time": [
        ("wrong", [submit(0, "j", deadline=60.0), end(8, "j", "done", degraded=["deadline"])]),
        ("wrong", [submit(0, "j", deadline=60.0), end(8, "j", "failed", code="deadline")]),
        ("wrong", [submit(0, "j", deadline=60.0), end(8, "j", "done", lost=["rank"]), last("j", "done", rank=2)]),
    ],
    "errors are the client's own": [
        ("wrong", [submit(0, None, refused="defect: ConnectionError: away")]),
        ("wrong", [end(1, "j", "defect: ResponseError: MISCONF")]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("promise", PROMISES)
def test_a_history_that_keeps_a_promise_breaks_none(promise: str) -> None:
    for history in KEPT[promise]:
        assert PROMISES[promise](history) == []


@pytest.mark.parametrize("promise", PROMISES)
def test_a_history_that_breaks_a_promise_is_counted(promise: str) -> None:
    for counted, history in BROKEN[promise]:
        assert [breach.count for breach in PROMISES[promise](history)] == [counted]


def test_the_counts_are_those_of_the_checkers() -> None:
    history = [
        submit(0, "a"), end(4, "a", "done", degraded=["store_down"]), last("a", "done", "queued", "done"),
        submit(1, "b", durable=False), end(9, "b", "failed", code="deadline"), last("b", "failed"),
        submit(2, "c"), last("c", "dead"), submit(3, "d"), last("d", "running"),
        submit(4, "e", durable=False), end(5, "e", "failed", code="invalid"), last("e", "failed"),
        submit(5, None, refused="Overloaded"), submit(6, None, refused="IdempotencyConflict"),
        Operation("faults", "fault", 2, 3, {"name": "kill"}, {}), answer("wrong"),
    ]  # fmt: skip
    counts = count(history)
    assert (counts.submitted, counts.refused, counts.degraded, counts.failed, counts.dead, counts.stuck) == (
        5, 1, 1, 1, 1, 1,
    )  # fmt: skip
    assert (counts.lost, counts.gone, counts.doubled, counts.wrong, counts.faults) == (0, 0, 0, 1, 1)
    assert counts.recovery_s == [6.0]
    stuck, wrong = counts.breaches
    assert stuck == "an accepted job ends: d: it is running when all is over"
    assert wrong == "a complete result is right: q: wrong instead of right"


def test_a_fault_spares_the_promises_that_it_breaks_itself() -> None:
    assert count([answer("wrong")], spared={"a complete result is right"}).wrong == 0


def test_recovery_is_over_when_all_jobs_are_that_were_open_in_the_fault() -> None:
    fault = Operation("faults", "fault", 2, 4, {"name": "kill"}, {})
    jobs = [
        submit(0, "over"), end(1, "over", "done"), submit(1.5, "open"), end(7, "open", "done"),
        submit(5, "later"), end(50, "later", "done"),
    ]  # fmt: skip
    assert recovery_s(jobs, fault) == 3.0
    assert recovery_s(jobs[:2], fault) == 0.0


def test_percentiles_are_nearest_ranks() -> None:
    assert percentile([], 0.5) is None
    assert [percentile([float(n) for n in range(1, 21)], share) for share in (0.5, 0.95, 1.0)] == [10.0, 19.0, 20.0]


def test_a_history_is_read_as_it_was_written() -> None:
    history = [write(0, NEVER, None, "failed"), find(4, "x", x=1), last("j", "done", "queued")]
    assert list(read_history(operation.line() for operation in history)) == history


def test_every_promise_has_a_checker_that_a_history_breaks() -> None:
    assert KEPT.keys() == BROKEN.keys() == PROMISES.keys()
    assert all(breaches == [] for breaches in breaches_of([]).values())
