"""Vectors without a model: texts that share words point the same way."""

import hashlib
import re
from functools import lru_cache

import numpy as np
import numpy.typing as npt

DIMENSIONS = 384


@lru_cache(maxsize=50_000)
def _direction(word: str) -> npt.NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)


def vector_of(text: str) -> npt.NDArray[np.float32]:
    """Sum the directions of the words (Chinese: of the characters), normalised; deterministic."""
    words = re.findall(r"[a-z0-9]+|[\u4e00-\u9fff]", text.casefold()) or ["(none)"]
    total = np.sum([_direction(word) for word in words], axis=0)
    return np.asarray(total / np.linalg.norm(total), dtype=np.float32)
