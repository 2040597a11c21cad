"""Similarity of vectors."""

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]


def cosine(left: Vector, right: Vector) -> float:
    """Return the cosine of two vectors: 1 for the same direction, and 0 if a vector is zero."""
    length = float(np.linalg.norm(left)) * float(np.linalg.norm(right))
    return float(left @ right) / length if length else 0.0
