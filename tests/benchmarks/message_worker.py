"""A worker on real stores whose scripted model gives texts that share words near vectors, and takes as long as told."""

import os
import time
import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt
from celery import Celery

from querymill_workers import app as workers_app
from querymill_workers import wiring
from querymill_workers.dispatch.ports import Ports
from querymill_workers.inference.ports import InputType, Vectors
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.usage import ProviderUsage

MODEL: Final = "scripted"
#: A third of those of a small model: so 10,000,000 messages fit on a disk of 50 GB.
DIMENSIONS: Final = 128
#: How long a call of the model takes, in seconds.
CALL_S: Final = float(os.environ.get("BENCH_CALL_S", "0"))
_DIRECTIONS: Final = np.random.default_rng(2_026).standard_normal((8_192, DIMENSIONS)).astype(np.float32)


def vector_of(text: str) -> npt.NDArray[np.float32]:
    """Sum the directions of the words of a text, each looked up by its hash."""
    places = [zlib.crc32(word.encode()) % len(_DIRECTIONS) for word in text.split()] or [0]
    total = _DIRECTIONS[places].sum(axis=0)
    return np.asarray(total / np.linalg.norm(total), np.float32)


class SharedWordEmbeddings:
    """Waits, then gives each text the vector of its words."""

    model, dimensions, max_text_tokens = MODEL, DIMENSIONS, 512

    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, ProviderUsage]:
        time.sleep(CALL_S)
        return np.stack([vector_of(text) for text in texts]), ProviderUsage(1, len(texts))

    def cached(self, texts: Sequence[str], *, input_type: InputType, collection: str) -> Vectors | None:
        return None


_real_ports = wiring.ports


def scripted_ports() -> Ports:
    """Build the real ports, with the scripted model."""
    return replace(_real_ports(), embeddings=SharedWordEmbeddings())


# The one seam: the composition root gives the scripted model instead of the real one.
wiring.ports = cache(scripted_ports)
app: Celery = workers_app.app
