"""Embeddings from any OpenAI-compatible server, with no text embedded twice.

text -> this process's cache -> the fleet's cache, or another worker's call in flight -> one batched request
"""

import base64
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
import openai
from cachetools import TTLCache
from typing_extensions import override

from querymill_shared.contracts.fields import Lane
from querymill_shared.counters import FleetCounters
from querymill_shared.values import value
from querymill_workers.inference.batching import BatchBounds, MicroBatcher, Vector, WaitingText
from querymill_workers.inference.capabilities import Capabilities
from querymill_workers.inference.carrying import then
from querymill_workers.inference.client import (
    NoResponse,
    ProviderResponse,
    Rejected,
    make_call,
    rate_limit_headers,
    tokens_of,
)
from querymill_workers.inference.fleet_cache import FleetCache, StillComing, cache_key
from querymill_workers.inference.gateway import Gateway
from querymill_workers.inference.ledger import Bill, Ledger
from querymill_workers.inference.parameters import Parameters
from querymill_workers.inference.ports import Embeddings, InputType, Vectors
from querymill_workers.inference.profiles import EmbeddingProfile
from querymill_workers.inference.replies import places_of, read_object
from querymill_workers.inference.work import Misfit, Unacceptable
from querymill_workers.jobs import job_counts
from querymill_workers.jobs.deadline import Caller, naming_lateness
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.text.queries import normalise
from querymill_workers.text.tokens import cut, estimate

#: Vectors in the process's cache: 20,000 × 384 × 4 bytes is 30 MB.
CACHED_VECTORS = 20_000
CACHE_TTL_S = 3_600.0
#: A text that no model and no filter objects to.
HARMLESS = "hello"
#: A request of the interactive lane holds this part of the tokens that a request may hold: one in so many.
QUESTION_SHARE = 4


class OpenAIEndpoint:
    """Sends one request to the embedding endpoint and checks the vectors."""

    def __init__(
        self, client: openai.OpenAI, profile: EmbeddingProfile, capabilities: Capabilities | None = None
    ) -> None:
        self._client = client
        self._profile = profile
        self.parameters = Parameters(capabilities)
        #: How many texts a request may hold, as far as was known when `look_up` was called last.
        self.most_texts = profile.max_inputs

    def look_up(self) -> None:
        """Look up how many texts a request may hold."""
        learned = self.parameters.most_texts
        self.most_texts = min(self._profile.max_inputs, learned or self._profile.max_inputs)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ask(self, texts: Sequence[str], input_type: InputType, timeout_s: float) -> ProviderResponse[Vectors]:
        """Embed texts in one request.

        Raises:
            Limited, NoResponse, Rejected: See `make_call`.
            Misfit: The vectors are of another model.
        """
        wanted = {"encoding_format": "float"} | ({"input_type": input_type} if self._profile.asymmetric else {})

        def send(sent: Mapping[str, Any], limit_s: float) -> ProviderResponse[Vectors]:
            def call() -> ProviderResponse[Vectors]:
                raw = self._client.embeddings.with_raw_response.create(
                    model=self._profile.model,
                    input=list(texts),
                    encoding_format="float",
                    # The library adds a format of its own unless it gets one.
                    extra_body={"encoding_format": openai.omit} | dict(sent),
                    timeout=limit_s,
                )
                response = read_object(raw.http_response.content)
                vectors = vectors_of(response, len(texts), self._profile.dimensions)
                return ProviderResponse(vectors, tokens_of(response), rate_limit_headers(raw.headers))

            try:
                return make_call(call)
            except Rejected as error:
                self.parameters.learn_size(error, len(texts))
                self.look_up()
                raise

        return self.parameters.call(wanted, send, timeout_s, texts=texts)

    def probe(self, timeout_s: float) -> None:
        """Have a harmless text embedded; see `Gateway`."""
        self.ask([HARMLESS], "passage", timeout_s)


@value
class PendingText:
    """A text to embed, with its cache key and its estimated tokens."""

    key: str
    text: str
    tokens: int


class TextsRefused(Unacceptable):
    """The provider refuses some texts, named by their cache keys."""

    def __init__(self, errors: Mapping[str, Unacceptable]) -> None:
        self.errors = errors
        first = next(iter(errors.values()))
        super().__init__(str(first), words=first.words)

    def in_order_of(self, keys: Sequence[str]) -> Unacceptable:
        """Return the error that names the texts by their index."""
        refused = {index: self.errors[key] for index, key in enumerate(keys) if key in self.errors}
        return Unacceptable(str(self), words=self.words, refused=refused)


class SharedEmbeddings(Embeddings):
    """`Embeddings` for a fleet that shares one provider account."""

    def __init__(
        self, endpoint: OpenAIEndpoint, gateway: Gateway[Vectors], fleet_cache: FleetCache, ledger: Ledger,
        profile: EmbeddingProfile, fleet_counters: FleetCounters, *, scoped: bool = True,
    ) -> None:  # fmt: skip
        self._endpoint = endpoint
        self._gateway = gateway
        self._fleet_cache = fleet_cache
        self._ledger = ledger
        self._profile = profile
        self._fleet_counters = fleet_counters
        self._scoped = scoped
        self._cache: TTLCache[str, Vector] = TTLCache(CACHED_VECTORS, min(CACHE_TTL_S, fleet_cache.ttl_s))
        self._batchers: dict[tuple[Lane, InputType], MicroBatcher] = {}
        self._lock = threading.Lock()

    @property
    def model(self) -> str:
        """The model's name. Vectors of different models are never compared."""
        return self._profile.model

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._profile.dimensions

    @property
    def _bytes(self) -> int:
        return 4 * self.dimensions

    @property
    def max_text_tokens(self) -> int:
        """The model's input. Of a longer text, only the beginning is embedded."""
        return self._profile.max_text_tokens

    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, ProviderUsage]:
        """See `Embeddings.embed`. A vector that is cached, or in flight for another worker, costs nothing."""
        texts = [cut(text, max_tokens=self.max_text_tokens) for text in texts]
        keys = [self._key(text, input_type, caller.collection) for text in texts]
        known = self._cached(keys)
        missing = {
            key: PendingText(key, text, estimate(text))
            for key, text in zip(keys, texts, strict=True)
            if key not in known
        }
        spent: list[ProviderUsage] = []

        def compute(led: Sequence[str]) -> Iterator[Mapping[str, bytes]]:
            return self._embed_in_batches([missing[key] for key in led], input_type, caller, spent)

        if missing:
            try:
                with naming_lateness(caller):
                    came = self._fleet_cache.obtain(
                        list(missing), compute, lane=caller.lane, until=caller.expires_at, size=self._bytes
                    )
            except TextsRefused as error:
                raise error.in_order_of(keys) from error
            fresh = {key: np.frombuffer(value, dtype="<f4") for key, value in came.items()}
            known |= fresh
            with self._lock:
                self._cache.update(fresh)
        rows = [known[key] for key in keys]
        return (np.stack(rows) if rows else np.empty((0, self.dimensions), np.float32)), sum(spent, ProviderUsage())

    def _cached(self, keys: Sequence[str]) -> dict[str, Vector]:
        with self._lock:
            known = {key: self._cache[key] for key in keys if key in self._cache}
        self._fleet_counters.count("vector_process_hit", len(known))
        job_counts.current().cached += len(known)
        return known

    @override
    def cached(self, texts: Sequence[str], *, input_type: InputType, collection: str) -> Vectors | None:
        texts = [cut(text, max_tokens=self.max_text_tokens) for text in texts]
        keys = [self._key(text, input_type, collection) for text in texts]
        known = self._cached(keys)
        missing = [key for key in keys if key not in known]
        shared = self._fleet_cache.known(missing, size=self._bytes) if missing else {}
        known |= {key: np.frombuffer(value, dtype="<f4") for key, value in shared.items()}
        return np.stack([known[key] for key in keys]) if keys and len(known) == len(set(keys)) else None

    def _key(self, text: str, input_type: InputType, collection: str) -> str:
        kind = input_type if self._profile.asymmetric else ""
        scope = collection if self._scoped else ""
        identity = f"{scope}\n{self.model}\n{self.dimensions}\n{kind}\n{normalise(text)}"
        return cache_key("vector", scope, identity)

    def _embed_in_batches(
        self, texts: Sequence[PendingText], input_type: InputType, caller: Caller, spent: list[ProviderUsage]
    ) -> Iterator[Mapping[str, bytes]]:
        """Queue texts for the next requests, and yield their vectors as the responses arrive.

        A text that the provider refuses fails the call only after the others have their vectors.
        """
        with self._ledger.billing(caller, self.model, sum(text.tokens for text in texts)) as bill:
            yield from self._embed_billed(texts, input_type, bill, spent)

    def _embed_billed(
        self, texts: Sequence[PendingText], input_type: InputType, bill: Bill, spent: list[ProviderUsage]
    ) -> Iterator[Mapping[str, bytes]]:
        caller = bill.caller
        waiting = {
            text.key: WaitingText(text.text, text.tokens, caller.expires_at, caller.collection, caller.has_left)
            for text in texts
        }
        self._endpoint.look_up()
        self._batcher(caller.lane, input_type).add(list(waiting.values()))
        keys = {text.vector: key for key, text in waiting.items()}
        open_, refused = set(keys), dict[str, Unacceptable]()
        while open_:
            left = None if caller.expires_at is None else max(caller.expires_at - self._gateway.clock(), 0)
            with job_counts.calling("embeddings"):
                done, open_ = wait(open_, timeout=left, return_when=FIRST_COMPLETED)
            if not done:
                coming = {keys[future]: then(future, lambda came: _packed(came[0])) for future in open_}
                for future in open_:
                    future.add_done_callback(partial(self._bill_late, bill, waiting[keys[future]].tokens))
                raise StillComing("embedding unavailable: no response in time", coming)
            for future in list(done):
                error = future.exception()
                if isinstance(error, Unacceptable):
                    refused[keys[future]] = error
                    done.discard(future)
            came = {keys[future]: future.result() for future in done}
            _charge(bill, {waiting[key]: usage for key, (_, usage) in came.items()})
            spent += [usage for _, usage in came.values()]
            yield {key: _packed(vector) for key, (vector, _) in came.items()}
        began = min(text.added for text in waiting.values())
        job_counts.current().waited_ms += (max(text.sent or began for text in waiting.values()) - began) * 1000
        if refused:
            raise TextsRefused(refused)

    def _bill_late(self, bill: Bill, tokens: int, late: "Future[tuple[Vector, ProviderUsage]]") -> None:
        """Charge a vector that came after its caller had left."""
        if late.exception() is None:
            _, usage = late.result()
            own = Bill(bill.caller, bill.model)
            own.add(usage.tokens or tokens, calls=usage.calls)
            self._ledger.settle(own)

    def _batcher(self, lane: Lane, input_type: InputType) -> MicroBatcher:
        with self._lock:
            batcher = self._batchers.get((lane, input_type))
            if batcher is None:
                allowed = self._gateway.account.max_tokens(lane)
                # The next question waits behind this one's request, so it is smaller than those of other lanes.
                most = self._profile.max_tokens // (QUESTION_SHARE if lane is Lane.INTERACTIVE else 1)
                tokens = most if allowed is None else min(allowed, most)
                batcher = self._batchers[lane, input_type] = MicroBatcher(
                    self._gateway,
                    lambda texts, timeout_s: self._endpoint.ask(texts, input_type, timeout_s),
                    lane=lane,
                    bounds=BatchBounds(lambda: self._endpoint.most_texts, tokens),
                )
            return batcher


def _charge(bill: Bill, used: Mapping[WaitingText, ProviderUsage]) -> None:
    """Add texts that have their vectors to a bill. Where the provider does not say what they took, it is estimated."""
    for text, usage in used.items():
        bill.add(usage.tokens or text.tokens, calls=usage.calls)
        job_counts.current().calls += usage.calls


def _packed(vector: Vector) -> bytes:
    return vector.astype("<f4").tobytes()


def vectors_of(response: Mapping[str, Any], count: int, dimensions: int) -> Vectors:
    """Return the vectors of a response as rows, in the order of the texts.

    Raises:
        NoResponse: The response does not hold one vector of finite numbers per text.
        Misfit: A vector has the wrong dimension.
    """
    items = items_in(response)
    places = places_of([item.get("index") for item in items], count)
    if places is None:
        contradiction = ", with indexes that contradict each other" if len(items) == count else ""
        raise NoResponse(f"the provider returned {len(items)} vectors for {count} texts{contradiction}")
    rows = [numbers_in(item["embedding"]) for _, item in sorted(zip(places, items, strict=True), key=itemgetter(0))]
    wrong = {len(row) for row in rows} - {dimensions}
    if wrong:
        raise Misfit(f"embedding rejected: the provider returned {sorted(wrong)[0]} dimensions, expected {dimensions}")
    vectors = np.asarray(rows, dtype=np.float32)
    if not np.isfinite(vectors).all():
        raise NoResponse("a vector contains NaN or infinity")
    return vectors


def items_in(response: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the items of a response. Servers of other APIs send bare vectors, and some name them by their type."""
    listed = response.get("data")
    if listed is None:
        listed = response.get("embeddings")
    if isinstance(listed, Mapping):
        listed = listed.get("float")
    return [item if isinstance(item, Mapping) else {"embedding": item} for item in listed or ()]


def numbers_in(vector: Any) -> Any:
    """Return the numbers of a vector.

    Some servers send them as Base64 of float32, whatever format is requested, or as the only one of a list of vectors.
    """
    if isinstance(vector, list) and len(vector) == 1 and isinstance(vector[0], list):
        vector = vector[0]
    return np.frombuffer(base64.b64decode(vector, validate=True), dtype="<f4") if isinstance(vector, str) else vector
