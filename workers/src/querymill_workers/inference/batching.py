"""Batch the texts of many jobs into one request.

A request is filled at the moment it may be sent. It takes every text that arrived while it waited for its grant, or
during a few milliseconds of linger while other requests are under way. When idle, a request is sent at once.

Each collection has requests of its own, which wait for their grants on its behalf. The short texts of other collections
travel with them where there is room. Long ones do not: no caller's question waits for another caller's long texts.
"""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.fields import Lane
from querymill_shared.tracing import current_traceparent
from querymill_shared.values import value
from querymill_workers.inference.carrying import carry
from querymill_workers.inference.client import ProviderResponse
from querymill_workers.inference.gateway import Gateway
from querymill_workers.inference.ports import Vectors
from querymill_workers.inference.work import Unacceptable
from querymill_workers.jobs import job_counts
from querymill_workers.jobs.faults import Refused
from querymill_workers.jobs.usage import ProviderUsage

Vector = npt.NDArray[np.float32]
Ask = Callable[[Sequence[str], float], ProviderResponse[Vectors]]

#: How long a request waits for more texts while another request is under way, in seconds.
LINGER_S = 0.004
#: One batcher sends at most this many requests of a collection at the same time.
MAX_UNDER_WAY = 8
#: Texts of up to this many tokens travel with those of other collections.
SHORT_TOKENS = 64


@dataclass(slots=True, eq=False)
class WaitingText:
    """A text that waits for its vector: its estimated tokens, its deadline (monotonic seconds), its collection.

    ``sent`` is when the last request for it could be sent, in monotonic seconds, None before that.
    """

    text: str
    tokens: int
    until: float | None
    collection: str = ""
    has_left: Callable[[], bool] = lambda: False
    vector: "Future[tuple[Vector, ProviderUsage]]" = field(default_factory=Future)
    added: float = field(default_factory=time.monotonic)
    sent: float | None = None
    traceparent: str = field(default_factory=current_traceparent)


@value
class BatchBounds:
    """The size limits of one request. How many texts it may hold may be learned later."""

    most_texts: Callable[[], int]
    tokens: int


class MicroBatcher:
    """Collects the texts of one lane and input type in this process and sends them in batches."""

    def __init__(self, gateway: Gateway[Vectors], ask: Ask, *, lane: Lane, bounds: BatchBounds) -> None:
        self._gateway = gateway
        self._ask = ask
        self._lane = lane
        self.bounds = bounds
        self._waiting: dict[str, list[WaitingText]] = {}
        self._gathering: set[str] = set()
        self._under_way: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, texts: Sequence[WaitingText]) -> None:
        """Queue texts. Each future yields a vector and the text's share of its request; the first carries the call."""
        with self._lock:
            for text in texts:
                self._waiting.setdefault(text.collection, []).append(text)
            for collection in {text.collection for text in texts}:
                self._gather(collection)

    def _gather(self, collection: str) -> None:
        if (
            self._waiting.get(collection)
            and collection not in self._gathering
            and self._under_way[collection] < MAX_UNDER_WAY
        ):
            self._gathering.add(collection)
            linger = self._under_way[collection] > 0
            carry(lambda: self._carry(collection, linger=linger), name=f"embed {self._lane}")

    def _carry(self, collection: str, *, linger: bool) -> None:
        if linger:
            time.sleep(LINGER_S)
        batch = TextBatch(self, self._lane, collection)
        try:
            with job_counts.uncounted():
                self._deliver(batch)
        except Exception as error:  # noqa: BLE001  # every waiting caller must learn of it
            batch.fail(error)
        finally:
            with self._lock:
                if batch.sealed:
                    self._under_way[collection] -= 1
                else:
                    self._gathering.discard(collection)
                self._gather(collection)

    def _deliver(self, batch: "TextBatch") -> None:
        suspects: list[TextBatch] = []
        self._deliver_most(batch, suspects)
        # The others have their vectors. To be sure of a text takes several requests, with waits between them.
        for start in range(0, len(suspects), MAX_UNDER_WAY):
            some = suspects[start : start + MAX_UNDER_WAY]
            wait([carry(partial(self._deliver_alone, suspect), name=f"embed {self._lane}") for suspect in some])

    def _deliver_most(self, batch: "TextBatch", suspects: list["TextBatch"]) -> None:
        """Send a batch. If a text in it cannot be embedded, halve it until that text is alone: a suspect."""
        try:
            response = self._gateway.call(batch)
        except Unacceptable:
            if len(batch.texts) < 2:
                raise
        else:
            if response is not None:
                batch.resolve(response)
            return
        for part in batch.split():
            if len(part.texts) == 1:
                suspects.append(part)
                continue
            try:
                self._deliver_most(part, suspects)
            except Exception as error:  # noqa: BLE001  # one text must not fail the others
                part.fail(error)

    def _deliver_alone(self, batch: "TextBatch") -> None:
        try:
            self._deliver_most(batch, [])
        except Exception as error:  # noqa: BLE001  # as above
            batch.fail(error)

    def send(self, texts: Sequence[WaitingText], timeout_s: float) -> ProviderResponse[Vectors]:
        """Send a batch and return its vectors."""
        for text in texts:
            text.sent = time.monotonic()
        self._gateway.account.fleet_counters.count(f"batch_size/{1 << (len(texts) - 1).bit_length()}")
        self._gateway.account.fleet_counters.count("batched_texts", len(texts))
        return self._ask([text.text for text in texts], timeout_s)

    def peek(self, collection: str) -> list[WaitingText]:
        """Return the texts that a request of a collection would take now, without taking them."""
        with self._lock:
            return self._next(collection)

    def take(self, collection: str) -> list[WaitingText]:
        """Take the texts of the request that is sent now. Texts that arrive later wait for the next request."""
        with self._lock:
            taken = self._next(collection)
            self._remove(taken)
            self._gathering.discard(collection)
            self._under_way[collection] += 1
            self._gather(collection)
            return taken

    def leave(self, collection: str, at: float | None = None) -> None:
        """Fail a collection's texts whose deadline is before ``at``, when the request will be sent. None means now."""
        at = self._gateway.clock() if at is None else at
        with self._lock:
            late = [text for text in self._waiting.get(collection, ()) if text.until is not None and text.until < at]
            self._remove(late)
        for text in late:
            text.vector.set_exception(Refused("rate limit: no call can start before the deadline", code="limit"))

    def withdraw(self, collection: str) -> bool:
        """Fail a collection's texts whose callers have left. Return whether none is left."""
        with self._lock:
            gone = [text for text in self._waiting.get(collection, ()) if text.has_left()]
            self._remove(gone)
            empty = collection not in self._waiting
        for text in gone:
            text.vector.set_exception(Refused("embedding: the job ended before its texts were sent", code="deadline"))
        return empty

    def take_all(self, collection: str) -> list[WaitingText]:
        """Take every waiting text of a collection, because the request that they wait for has failed."""
        with self._lock:
            return self._waiting.pop(collection, [])

    def _remove(self, taken: Sequence[WaitingText]) -> None:
        gone = set(taken)
        for collection in {text.collection for text in taken}:
            left = [text for text in self._waiting[collection] if text not in gone]
            self._waiting[collection] = left
            if not left:
                del self._waiting[collection]

    def _next(self, collection: str) -> list[WaitingText]:
        """Choose the texts of a request: the collection's own, then short ones of others in turn if it has room."""
        taken: list[WaitingText] = []
        room, most = self.bounds.tokens, self.bounds.most_texts()
        for text in self._waiting.get(collection, ())[:most]:
            if taken and text.tokens > room:
                return taken
            taken.append(text)
            room -= text.tokens
        if not taken or any(text.tokens > SHORT_TOKENS for text in taken):
            return taken
        others = [
            [text for text in texts[:most] if text.tokens <= SHORT_TOKENS]
            for name, texts in self._waiting.items()
            if name != collection
        ]
        for text in (text for turn in zip_longest(*others) for text in turn if text is not None):
            if len(taken) >= most or text.tokens > room:
                break
            taken.append(text)
            room -= text.tokens
        return taken


class TextBatch:
    """One request of a collection. It is open while it waits for its grant, then sealed."""

    def __init__(
        self, batcher: MicroBatcher, lane: Lane, collection: str, texts: list[WaitingText] | None = None
    ) -> None:  # fmt: skip
        self._batcher = batcher
        self.lane = lane
        self.collection = collection
        self.texts = texts or []
        self.sealed = texts is not None

    def split(self) -> list["TextBatch"]:
        """Split a sealed batch: into two, or into as many as the provider takes, if it has too many texts."""
        most = self._batcher.bounds.most_texts()
        size = most if most < len(self.texts) else math.ceil(len(self.texts) / 2)
        parts = [self.texts[start : start + size] for start in range(0, len(self.texts), size)]
        return [TextBatch(self._batcher, self.lane, self.collection, part) for part in parts]

    def has_left(self) -> bool:
        """Withdraw the texts that nobody waits for any more. Return whether none is left."""
        return not self.sealed and self._batcher.withdraw(self.collection)

    def until(self) -> float | None:
        """Return the latest deadline of the texts, or None if one of them has none."""
        times = [text.until for text in self._known()]
        return None if None in times else max((time for time in times if time is not None), default=0.0)

    def parts(self) -> int:
        """Return how many texts would be sent now."""
        return len(self._known())

    def tokens(self) -> int:
        """Return the estimated tokens of the texts that would be sent now."""
        return sum(text.tokens for text in self._known())

    def expect(self, at: float) -> None:
        """Fail the texts that cannot wait until then."""
        if not self.sealed:
            self._batcher.leave(self.collection, at)

    def seal(self) -> int | None:
        """Take the texts to send. Return their estimated tokens, or None if there are none."""
        if not self.sealed:
            self._batcher.leave(self.collection)
            self._batcher.withdraw(self.collection)
            self.texts = self._batcher.take(self.collection)
            self.sealed = True
        return self.tokens() if self.texts else None

    def traces(self) -> list[str]:
        """Return the traceparent of each caller whose texts would be sent now."""
        return list(dict.fromkeys(text.traceparent for text in self._known() if text.traceparent))

    def send(self, timeout_s: float) -> ProviderResponse[Vectors]:
        """Send the batch and return its vectors."""
        return self._batcher.send(self.texts, timeout_s)

    def resolve(self, response: ProviderResponse[Vectors]) -> None:
        """Give each text its vector and its share of the tokens. The first also carries the call."""
        tokens = shares(response.tokens or 0, [text.tokens for text in self.texts])
        for place, (text, vector) in enumerate(zip(self.texts, response.value, strict=True)):
            text.vector.set_result((vector, ProviderUsage(int(place == 0), tokens[place])))

    def fail(self, error: Exception) -> None:
        """Fail the texts of the batch or, while it is open, every waiting text."""
        texts = self.texts if self.sealed else self._batcher.take_all(self.collection)
        for text in texts:
            if not text.vector.done():
                text.vector.set_exception(error)

    def _known(self) -> list[WaitingText]:
        return self.texts if self.sealed else self._batcher.peek(self.collection)


def shares(total: int, estimates: Sequence[int]) -> list[int]:
    """Split the tokens of a request among its texts, by what each was estimated to take. The shares add up to all.

    >>> shares(10, [1, 1, 1])
    [3, 3, 4]
    """
    whole, before, given = max(sum(estimates), 1), 0, 0
    found = []
    for estimate in estimates:
        before += estimate
        found.append(total * before // whole - given)
        given += found[-1]
    return found
