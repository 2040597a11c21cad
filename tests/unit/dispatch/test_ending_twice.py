"""A process that is told to stop while it is being told to stop."""

from celery.signals import worker_shutting_down

from querymill_workers import observe


def test_a_second_signal_is_handled_within_the_first() -> None:
    # Celery holds its lock while it looks for who is to be told, and its handler may be interrupted by itself.
    lock = worker_shutting_down.lock  # type: ignore[attr-defined]  # its stubs lack it
    with lock:
        got_it = lock.acquire(blocking=False)
        assert got_it, f"{observe.__name__} leaves Celery a lock that waits for itself"
        lock.release()
