"""Batch the texts of many jobs into one request.

A request is filled at the moment it may be sent. It takes every text that arrived while it waited for its grant, or
during a few milliseconds of linger while other requests are under way. When idle, a request is sent at once.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.fields import Lane
from querymill_workers.inference.client import ProviderResponse
from querymill_workers.inference.gateway import Gateway
from querymill_workers.inference.ports import Vectors
from querymill_workers.jobs.faults import Refused
from querymill_workers.jobs.usage import Usage

Vector = npt.NDArray[np.float32]
Ask = Callable[[Sequence[str], float], ProviderResponse[Vectors]]

#: How long a request waits for more texts while another request is under way, in seconds.
LINGER_S = 0.004
#: One batcher sends at most this many requests at the same time.
MAX_UNDER_WAY = 8


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """A text that waits for its vector, with its estimated tokens and its deadline (monotonic seconds)."""

    text: str
    tokens: int
    until: float | None
    vector: "Future[tuple[Vector, Usage]]" = field(default_factory=Future)


@dataclass(frozen=True, slots=True)
class BatchBounds:
    """The size limits of one request."""

    inputs: int
    tokens: int


class MicroBatcher:
    """Collects the texts of one lane and input type in this process and sends them in batches."""

    def __init__(self, gateway: Gateway[Vectors], ask: Ask, *, lane: Lane, bounds: BatchBounds) -> None:
        self._gateway = gateway
        self._ask = ask
        self._lane = lane
        self._bounds = bounds
        self._waiting: list[Waiting] = []
        self._gathering = False
        self._under_way = 0
        self._lock = threading.Lock()
        self._carriers = ThreadPoolExecutor(MAX_UNDER_WAY, thread_name_prefix=f"embed-{lane}")

    def add(self, texts: Sequence[Waiting]) -> None:
        """Queue texts. Each future yields a vector and a usage; the first of a request carries all of its usage."""
        with self._lock:
            self._waiting.extend(texts)
            self._gather()

    def _gather(self) -> None:
        if self._waiting and not self._gathering and self._under_way < MAX_UNDER_WAY:
            self._gathering = True
            self._carriers.submit(self._carry, linger=self._under_way > 0)

    def _carry(self, *, linger: bool) -> None:
        if linger:
            time.sleep(LINGER_S)
        batch = Batch(self, self._lane)
        try:
            self._deliver(batch)
        except Exception as error:  # noqa: BLE001  # every waiting caller must learn of it
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
            response = self._gateway.call(batch)
        except Refused:
            if len(batch.texts) < 2:
                raise
            # A text that cannot be embedded must not fail the others.
            for half in batch.halves():
                try:
                    self._deliver(half)
                except Exception as error:  # noqa: BLE001  # as above
                    half.fail(error)
            return
        if response is not None:
            batch.resolve(response)

    def send(self, texts: Sequence[Waiting], timeout_s: float) -> ProviderResponse[Vectors]:
        """Send a batch and return its vectors."""
        self._gateway.account.meters.count(f"batch_size/{1 << (len(texts) - 1).bit_length()}")
        self._gateway.account.meters.count("batched_texts", len(texts))
        return self._ask([text.text for text in texts], timeout_s)

    def peek(self) -> list[Waiting]:
        """Return the texts that a request would take now, without taking them."""
        with self._lock:
            return self._next()

    def take(self) -> list[Waiting]:
        """Take the texts of the request that is sent now. Texts that arrive later wait for the next request."""
        with self._lock:
            taken = self._next()
            del self._waiting[: len(taken)]
            self._gathering = False
            self._under_way += 1
            self._gather()
            return taken

    def leave(self, at: float) -> None:
        """Fail the texts whose deadline is before ``at``, when the request will be sent."""
        with self._lock:
            late = [text for text in self._waiting if text.until is not None and text.until < at]
            self._waiting = [text for text in self._waiting if text not in late]
        for text in late:
            text.vector.set_exception(Refused("rate limit: no call can start before the deadline"))

    def take_all(self) -> list[Waiting]:
        """Take every waiting text, because the request that they wait for has failed."""
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
    """One request. It is open while it waits for its grant, then sealed."""

    def __init__(self, batcher: MicroBatcher, lane: Lane, texts: list[Waiting] | None = None) -> None:
        self._batcher = batcher
        self.lane = lane
        self.texts = texts or []
        self.sealed = texts is not None

    def halves(self) -> list["Batch"]:
        """Split a sealed batch into two."""
        middle = len(self.texts) // 2
        return [Batch(self._batcher, self.lane, half) for half in (self.texts[:middle], self.texts[middle:])]

    def until(self) -> float | None:
        """Return the latest deadline of the texts, or None if one of them has none."""
        times = [text.until for text in self._known()]
        return None if None in times else max((time for time in times if time is not None), default=0.0)

    def tokens(self) -> int:
        """Return the estimated tokens of the texts that would be sent now."""
        return sum(text.tokens for text in self._known())

    def expect(self, at: float) -> None:
        """Fail the texts that cannot wait until then."""
        if not self.sealed:
            self._batcher.leave(at)

    def seal(self) -> int | None:
        """Take the texts to send. Return their estimated tokens, or None if there are none."""
        if not self.sealed:
            self.texts = self._batcher.take()
            self.sealed = True
        return self.tokens() if self.texts else None

    def send(self, timeout_s: float) -> ProviderResponse[Vectors]:
        """Send the batch and return its vectors."""
        return self._batcher.send(self.texts, timeout_s)

    def resolve(self, response: ProviderResponse[Vectors]) -> None:
        """Give each text its vector. The first also gets the usage of the request."""
        usage = Usage(1, response.tokens or 0)
        for text, vector in zip(self.texts, response.value, strict=True):
            text.vector.set_result((vector, usage))
            usage = Usage()

    def fail(self, error: Exception) -> None:
        """Fail the texts of the batch or, while it is open, every waiting text."""
        texts = self.texts if self.sealed else self._batcher.take_all()
        for text in texts:
            if not text.vector.done():
                text.vector.set_exception(error)

    def _known(self) -> list[Waiting]:
        return self.texts if self.sealed else self._batcher.peek()
