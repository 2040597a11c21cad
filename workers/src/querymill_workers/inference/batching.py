"""Texts of many jobs in one request: what waits together travels together.

A request is formed when it may go, not before: everything that arrived while it waited for its grant, or during
a few milliseconds of linger while other requests are under way, goes with it. When idle, nothing lingers.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.fields import Lane
from querymill_workers.inference.client import Answer
from querymill_workers.inference.gateway import Gateway
from querymill_workers.inference.ports import Vectors
from querymill_workers.jobs.faults import Refused
from querymill_workers.jobs.usage import Usage

Vector = npt.NDArray[np.float32]
Ask = Callable[[Sequence[str], float], Answer[Vectors]]

#: How long a request lingers for company while another is under way, in seconds.
LINGER_S = 0.004
#: Requests of one batcher under way at once.
MOST_UNDER_WAY = 8


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """A text that waits for its vector: its estimated tokens, and until when (monotonic seconds)."""

    text: str
    tokens: int
    until: float | None
    answer: "Future[tuple[Vector, Usage]]" = field(default_factory=Future)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one request may hold at most."""

    inputs: int
    tokens: int


class MicroBatcher:
    """Gathers the texts of one lane and input type of this process, and carries them to the provider."""

    def __init__(self, gateway: Gateway[Vectors], ask: Ask, *, lane: Lane, bounds: Bounds) -> None:
        self._gateway = gateway
        self._ask = ask
        self._lane = lane
        self._bounds = bounds
        self._waiting: list[Waiting] = []
        self._gathering = False
        self._under_way = 0
        self._lock = threading.Lock()
        self._carriers = ThreadPoolExecutor(MOST_UNDER_WAY, thread_name_prefix=f"embed-{lane}")

    def add(self, texts: Sequence[Waiting]) -> None:
        """Hand texts over; each one's future gives its vector, and the usage of the request once for all of it."""
        with self._lock:
            self._waiting.extend(texts)
            self._gather()

    def _gather(self) -> None:
        if self._waiting and not self._gathering and self._under_way < MOST_UNDER_WAY:
            self._gathering = True
            self._carriers.submit(self._carry, linger=self._under_way > 0)

    def _carry(self, *, linger: bool) -> None:
        if linger:
            time.sleep(LINGER_S)
        batch = Batch(self, self._lane)
        try:
            self._deliver(batch)
        except Exception as error:  # noqa: BLE001  # whoever waits for a text is told, whatever it was
            batch.fail(error)
        finally:
            with self._lock:
                if batch.sealed:
                    self._under_way -= 1
                else:
                    self._gathering = False
                self._gather()

    def _deliver(self, batch: "Batch") -> None:
        try:
            answer = self._gateway.call(batch)
        except Refused:
            if len(batch.texts) < 2:
                raise
            # One text that cannot be embedded must not take the others with it.
            for half in batch.halves():
                try:
                    self._deliver(half)
                except Exception as error:  # noqa: BLE001  # as above
                    half.fail(error)
            return
        if answer is not None:
            batch.answer(answer)

    def send(self, texts: Sequence[Waiting], timeout_s: float) -> Answer[Vectors]:
        """Ask for the vectors of a batch."""
        self._gateway.account.meters.count(f"batch_size/{1 << (len(texts) - 1).bit_length()}")
        self._gateway.account.meters.count("batched_texts", len(texts))
        return self._ask([text.text for text in texts], timeout_s)

    def peek(self) -> list[Waiting]:
        """Return what would go if a request went now."""
        with self._lock:
            return self._next()

    def take(self) -> list[Waiting]:
        """Take what goes now; who comes later goes with the next request."""
        with self._lock:
            taken = self._next()
            del self._waiting[: len(taken)]
            self._gathering = False
            self._under_way += 1
            self._gather()
            return taken

    def leave(self, at: float) -> None:
        """Tell those whose time is up before ``at`` that they wait in vain."""
        with self._lock:
            late = [text for text in self._waiting if text.until is not None and text.until < at]
            self._waiting = [text for text in self._waiting if text not in late]
        for text in late:
            text.answer.set_exception(Refused("the provider's limit leaves no call in time"))

    def take_all(self) -> list[Waiting]:
        """Take everything that waits: the request it waited for was refused."""
        with self._lock:
            taken, self._waiting = self._waiting, []
            return taken

    def _next(self) -> list[Waiting]:
        tokens, taken = 0, 0
        for text in self._waiting[: self._bounds.inputs]:
            tokens += text.tokens
            if taken and tokens > self._bounds.tokens:
                break
            taken += 1
        return self._waiting[:taken]


class Batch:
    """One request on its way: open while it waits for its grant, then sealed."""

    def __init__(self, batcher: MicroBatcher, lane: Lane, texts: list[Waiting] | None = None) -> None:
        self._batcher = batcher
        self.lane = lane
        self.texts = texts or []
        self.sealed = texts is not None

    def halves(self) -> list["Batch"]:
        """Split a sealed batch in two."""
        middle = len(self.texts) // 2
        return [Batch(self._batcher, self.lane, half) for half in (self.texts[:middle], self.texts[middle:])]

    def until(self) -> float | None:
        """The latest time of those who wait."""
        times = [text.until for text in self._known()]
        return None if None in times else max((time for time in times if time is not None), default=0.0)

    def tokens(self) -> int:
        """Estimated tokens of what would go now."""
        return sum(text.tokens for text in self._known())

    def expect(self, at: float) -> None:
        """Let those go who cannot wait until then."""
        if not self.sealed:
            self._batcher.leave(at)

    def seal(self) -> int | None:
        """Take what waits now."""
        if not self.sealed:
            self.texts = self._batcher.take()
            self.sealed = True
        return self.tokens() if self.texts else None

    def send(self, timeout_s: float) -> Answer[Vectors]:
        """Ask for the vectors."""
        return self._batcher.send(self.texts, timeout_s)

    def answer(self, answer: Answer[Vectors]) -> None:
        """Give each text its vector; the first one bears the usage."""
        usage = Usage(1, answer.tokens or 0)
        for text, vector in zip(self.texts, answer.value, strict=True):
            text.answer.set_result((vector, usage))
            usage = Usage()

    def fail(self, error: Exception) -> None:
        """Tell everybody in it, or everybody who still waits for it, that there will be no vector."""
        texts = self.texts if self.sealed else self._batcher.take_all()
        for text in texts:
            if not text.answer.done():
                text.answer.set_exception(error)

    def _known(self) -> list[Waiting]:
        return self.texts if self.sealed else self._batcher.peek()
