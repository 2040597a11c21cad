"""`messages` by vectors: the nearest rows, the threshold on what their cosine means, the hits as they are shown."""

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.fields import Contract
from querymill_shared.contracts.messages.search import PRESETS, Channel, MessageHit, MessageSearch, Mode
from querymill_workers.dispatch.ports import Ports
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, MessageRow
from querymill_workers.text.calibration import ROUNDING, Calibration, band

#: The similarity of a hit that no vector was compared for.
TEXT_SIMILARITY = 0.5
#: Places that a similarity is shown with: more than float32 is good for.
SHOWN_PLACES = 6


class Found(Contract):
    """What a search found, as it stands on the board; ``compared`` tells whether there was a vector to compare."""

    mode: Mode
    results: tuple[MessageHit, ...]
    total: int
    total_is_exact: bool
    why: str | None = None
    searched: Literal["exact", "approximate"] | None = None
    best_below_threshold: float | None = None
    skipped: int = 0
    compared: bool = True
    degraded: tuple[tuple[str, str], ...] = ()


def floor_of(request: MessageSearch, calibration: Calibration) -> float:
    """Say which raw cosine a hit must reach: the threshold, less what float32 may be off."""
    threshold = request.similarity_threshold
    return -2.0 if threshold is None else calibration.floor(threshold) - ROUNDING


def by_similarity(request: MessageSearch, where: MessageFilter, vector: npt.NDArray[np.float32], ports: Ports) -> Found:
    """Keep similarity ≥ threshold, the most similar first, cut to the limit."""
    floor = floor_of(request, ports.calibration)
    near = ports.messages.nearest(where, vector, model=ports.embeddings.model, most=request.limit, floor=floor)
    passed = [row for row in near.rows if row.raw is not None and row.raw >= floor]
    return Found(
        mode="vector",
        results=tuple(similar(row, request, ports.calibration) for row in passed),
        total=near.passed,
        total_is_exact=near.exact,
        searched="exact" if near.exact else "approximate",
        best_below_threshold=None if passed else best_similarity(near.rows, ports.calibration),
        skipped=near.skipped,
        compared=bool(near.rows),
    )


def best_similarity(rows: Iterable[MessageRow], calibration: Calibration) -> float | None:
    """Say how similar the most similar of the rows is; None where none was compared."""
    cosines = [row.raw for row in rows if row.raw is not None]
    return shown(calibration.similarity(max(cosines))) if cosines else None


def similar(row: MessageRow, request: MessageSearch, calibration: Calibration) -> MessageHit:
    """Show a row that was found by its vector alone."""
    similarity = similarity_of(row, calibration)
    explanation = {
        "formula": "similarity = calibrated(cosine)" if calibration.points else "similarity = cosine",
        "cosine": row.raw,
        "calibration": [list(point) for point in calibration.points],
    }
    return hit(row, request, calibration, score=similarity, found_by=("vector",), explanation=explanation)


def hit(
    row: MessageRow,
    request: MessageSearch,
    calibration: Calibration,
    *,
    score: float,
    found_by: tuple[Channel, ...],
    explanation: dict[str, Any],
) -> MessageHit:
    """Show a row, with its similarity if a vector was compared, else with the similarity of text."""
    similarity = similarity_of(row, calibration)
    must_use = PRESETS[request.preset].must_use if request.preset else None
    return MessageHit(
        vector_id=row.vector_id,
        message_id=row.message_id,
        session_id=row.session_id,
        content=row.content,
        vector_type=row.vector_type,
        similarity=similarity,
        created_at=row.created_at,
        session_name=row.session_name,
        user_name=row.user_name,
        message_role=row.message_role,
        raw_similarity=None if row.raw is None else shown(row.raw),
        band=band(similarity),
        score=score,
        found_by=found_by,
        must_use=must_use is not None and row.raw is not None and similarity >= must_use,
        explanation=explanation,
    )


def similarity_of(row: MessageRow, calibration: Calibration) -> float:
    """Return the calibrated similarity of a row, or that of text."""
    return TEXT_SIMILARITY if row.raw is None else shown(calibration.similarity(row.raw))


def shown(similarity: float) -> float:
    """Round a similarity to what it is good for."""
    return round(similarity, SHOWN_PLACES)
