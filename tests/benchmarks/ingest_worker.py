"""A worker on real stores whose embedding model is scripted: it waits as long as it is told, and costs nothing else."""

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Final

import numpy as np
from celery import Celery

from querymill_workers import app as workers_app
from querymill_workers import wiring
from querymill_workers.dispatch.ports import Ports
from querymill_workers.inference.ports import InputType, Vectors
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.usage import ProviderUsage

DIMENSIONS: Final = 384
#: How long a call of the model takes, in seconds.
CALL_S: Final = float(os.environ.get("BENCH_CALL_S", "0"))
#: Vectors to choose from: to make one for each text would measure the maker.
_VECTORS: Final = np.random.default_rng(2_026).standard_normal((512, DIMENSIONS)).astype(np.float32)


class ScriptedEmbeddings:
    """Waits, then gives every text one of a few vectors."""

    model, dimensions, max_text_tokens = "multilingual-e5-small", DIMENSIONS, 512

    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, ProviderUsage]:
        time.sleep(CALL_S)
        return _VECTORS[[hash(text) % len(_VECTORS) for text in texts]], ProviderUsage(1, len(texts))

    def cached(self, texts: Sequence[str], *, input_type: InputType, collection: str) -> Vectors | None:
        return None


_real_ports = wiring.ports


def scripted_ports() -> Ports:
    """Build the real ports, with the scripted model."""
    return replace(_real_ports(), embeddings=ScriptedEmbeddings())


# The one seam: the composition root gives the scripted model instead of the real one.
wiring.ports = cache(scripted_ports)
app: Celery = workers_app.app
