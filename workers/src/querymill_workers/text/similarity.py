"""How near two vectors are."""

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]


def cosine(left: Vector, right: Vector) -> float:
    """Compare two vectors: 1 for the same direction, 0 where one of them is zero."""
    length = float(np.linalg.norm(left)) * float(np.linalg.norm(right))
    return float(left @ right) / length if length else 0.0
