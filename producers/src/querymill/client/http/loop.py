"""An event loop in a thread of its own: what is written for coroutines, for callers in threads."""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakSet

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for any number of threads. The thread starts with the first, and once more after a fork."""

    def __init__(self) -> None:
        self.forget()
        _threads.add(self)

    def forget(self) -> None:
        """Begin again, as in a forked process, which has none of the threads."""
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, wanted: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine, and return its result. If the caller is interrupted, the coroutine is cancelled."""
        future = asyncio.run_coroutine_threadsafe(wanted, self._running())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, source: AsyncGenerator[T]) -> Iterator[T]:
        """Yield what an asynchronous generator yields. It is closed if the caller takes no more."""
        try:
            while (found := self.run(_next(source))) is not None:
                yield found[0]
        finally:
            with suppress(RuntimeError):  # the loop has ended
                self.run(source.aclose())

    def stop(self) -> None:
        """End the thread once what runs in it has ended."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            asyncio.run_coroutine_threadsafe(_end_all(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="querymill-http", daemon=True)
                self._thread.start()
            return self._loop


async def _next(source: AsyncGenerator[T]) -> tuple[T] | None:
    try:
        return (await anext(source),)
    except StopAsyncIteration:
        return None


async def _end_all() -> None:
    """Wait until nothing else runs in this loop, for a moment; then cancel what does."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        _, late = await asyncio.wait(others, timeout=1.0)
        for task in late:
            task.cancel()


def _forget_all() -> None:
    for thread in _threads:
        thread.forget()


_threads: WeakSet[LoopThread] = WeakSet()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget_all)
