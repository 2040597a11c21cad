"""Embeddings from any OpenAI-compatible server, checked, and kept in this process for a while."""

import hashlib
import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import openai
from cachetools import TTLCache
from openai.types import CreateEmbeddingResponse

from querymill_workers.inference.client import UNREADABLE, reason_of, time_left_s
from querymill_workers.inference.profiles import EmbeddingProfile
from querymill_workers.ports import Caller, InputType, Refused, Unavailable, Usage, Vectors

#: Vectors kept in the process: 20,000 × 384 × 4 bytes is 30 MB.
CACHED_VECTORS = 20_000
CACHE_TTL_S = 3_600.0


class OpenAIEmbeddings:
    """`Embeddings` by the OpenAI protocol, behind a cache bounded in size and age."""

    def __init__(self, client: openai.OpenAI, profile: EmbeddingProfile, *, timeout_s: float) -> None:
        self._client = client
        self._profile = profile
        self._timeout_s = timeout_s
        self._cache: TTLCache[bytes, npt.NDArray[np.float32]] = TTLCache(CACHED_VECTORS, CACHE_TTL_S)
        self._lock = threading.Lock()

    @property
    def model(self) -> str:
        """The model's name; vectors of another are never compared with its own."""
        return self._profile.model

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._profile.dimensions

    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, Usage]:
        """See `Embeddings.embed`; texts that are cached cost nothing."""
        keys = [self._key(text, input_type) for text in texts]
        with self._lock:
            known = {key: self._cache[key] for key in keys if key in self._cache}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        usage = Usage()
        if missing:
            vectors, usage = self._ask(list(missing.values()), input_type, caller)
            fresh = dict(zip(missing, vectors, strict=True))
            known |= fresh
            with self._lock:
                self._cache.update(fresh)
        rows = [known[key] for key in keys]
        return np.stack(rows) if rows else np.empty((0, self.dimensions), np.float32), usage

    def _key(self, text: str, input_type: InputType) -> bytes:
        kind = input_type if self._profile.asymmetric else ""
        return hashlib.sha256(f"{self.model}\n{kind}\n{text}".encode()).digest()

    def _ask(self, texts: Sequence[str], input_type: InputType, caller: Caller) -> tuple[Vectors, Usage]:
        limit = time_left_s(caller, at_most=self._timeout_s)
        extra = {"input_type": input_type} if self._profile.asymmetric else None
        try:
            response = self._client.embeddings.create(
                model=self.model, input=list(texts), encoding_format="float", extra_body=extra, timeout=limit
            )
        except openai.BadRequestError as error:
            raise Refused(f"embedding refused: {reason_of(error)}") from error
        except (openai.OpenAIError, *UNREADABLE) as error:
            raise Unavailable(f"embedding unavailable: {reason_of(error)}") from error
        return checked(response, len(texts), self.dimensions), Usage(1, _tokens(response))


def checked(response: CreateEmbeddingResponse, count: int, dimensions: int) -> Vectors:
    """Turn a response into rows in the order asked, or refuse it.

    Raises:
        Unavailable: Not one embedding per text.
        Refused: A wrong dimension, or numbers that are not finite.
    """
    items = sorted(response.data or (), key=lambda item: item.index)
    if [item.index for item in items] != list(range(count)):
        raise Unavailable(f"embedding unavailable: {len(items)} vectors answered for {count} texts")
    wrong = {len(item.embedding) for item in items} - {dimensions}
    if wrong:
        raise Refused(f"embedding refused: dimension {sorted(wrong)[0]} where the model has {dimensions}")
    vectors = np.asarray([item.embedding for item in items], dtype=np.float32)
    if not np.isfinite(vectors).all():
        raise Refused("embedding refused: a vector holds NaN or infinity")
    return vectors


def _tokens(response: CreateEmbeddingResponse) -> int:
    return int(getattr(response.usage, "total_tokens", 0) or 0)
