"""A background thread that is replaced when it hangs."""

import threading

from structlog.testing import capture_logs

from querymill_workers.dispatch.watchdog import WatchedThread


def test_a_thread_that_hangs_is_named_and_replaced() -> None:
    hangs, goes_on, turns = threading.Event(), threading.Event(), []

    def wait_for_a_store() -> None:
        hangs.wait(10)

    def turn() -> float:
        turns.append(threading.current_thread())
        if len(turns) == 1:
            wait_for_a_store()
        elif len(turns) > 3:
            goes_on.set()
        return 0.01

    thread = WatchedThread("sweeper", turn, hangs_after_s=0.3, look_every_s=0.05)
    with capture_logs() as logs:
        thread.start()
        assert goes_on.wait(20)
        hangs.set()
        turns[0].join(20)
        thread.stop()
    assert not turns[0].is_alive()  # it took no second turn
    assert turns.count(turns[0]) == 1
    told = [line for line in logs if line["log_level"] == "error"]
    assert {line["thread"] for line in told} == {"sweeper"}
    assert any("wait_for_a_store" in place for line in told for place in line["at"])


def test_a_thread_that_raises_takes_its_next_turn() -> None:
    turns = []
    again = threading.Event()

    def turn() -> float:
        turns.append(1)
        if len(turns) == 1:
            raise ZeroDivisionError
        again.set()
        return 0.01

    thread = WatchedThread("sweeper", turn)
    thread.start()
    assert again.wait(20)
    thread.stop()
