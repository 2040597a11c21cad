"""What a mode of search is given and what it finds, as plain values."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.messages.search import Channel, Mode
from querymill_shared.values import value
from querymill_workers.retrievers.messages.rules.sessions import MessageRow
from querymill_workers.text.calibration import Calibration
from querymill_workers.vectors.rules.worth import VectorsWorth

#: The similarity of a hit whose vector was not compared.
TEXT_SIMILARITY: Final = 0.5
#: Decimal places of a similarity; a float32 cosine carries no more.
SIMILARITY_PLACES: Final = 6


@value
class CalibratedQuestion:
    """A question as rows are compared with it; a hit by its vector has at least the cosine ``min_cosine``.

    ``worth`` is what the vectors of the model are worth on the collection, None if that is not known.
    """

    vector: npt.NDArray[np.float32]
    model: str
    calibration: Calibration
    min_cosine: float
    worth: VectorsWorth | None = None

    def similarity(self, row: MessageRow) -> float:
        """Return the calibrated similarity of a row, or `TEXT_SIMILARITY` if the row has no vector of the model."""
        return TEXT_SIMILARITY if row.raw is None else round(self.calibration.similarity(row.raw), SIMILARITY_PLACES)

    def best_similarity(self, rows: Iterable[MessageRow]) -> float | None:
        """Return the greatest similarity of the rows that were compared, or None if none was."""
        return max((self.similarity(row) for row in rows if row.raw is not None), default=None)


class Gap(NamedTuple):
    """A part of the search that is missing, and why: as a reason, and as a code."""

    stage: str
    reason: str
    code: Code


@value
class MessageMatch:
    """A row that a mode found. ``explanation`` holds every number needed to recompute ``score``."""

    row: MessageRow
    similarity: float
    score: float
    found_by: tuple[Channel, ...]
    explanation: dict[str, Any]


@value
class MessageMatches:
    """What a mode found, best first and cut to the limit.

    ``total`` counts the matches before the cut. ``skipped`` counts the rows without a vector of the model, and
    ``pending`` those of them that wait for one. ``compared`` tells whether any row had a vector to compare, and
    ``uncalibrated`` that their model has no measured profile. ``rare`` are the matches that hold rare words of the
    question. ``question`` is what the rows were compared with, None if there was no vector.
    """

    mode: Mode
    best: Sequence[MessageMatch]
    total: int
    total_is_exact: bool
    why: str | None = None
    searched: Literal["exact", "approximate"] | None = None
    best_below_threshold: float | None = None
    skipped: int = 0
    pending: int = 0
    compared: bool = True
    uncalibrated: bool = False
    gaps: tuple[Gap, ...] = ()
    rare: Sequence[MessageMatch] = ()
    question: CalibratedQuestion | None = None


def passage_of(row: MessageRow) -> dict[str, Any]:
    """Return what an explanation says of the passage by whose vector a long text was found."""
    return {} if row.passage is None else {"passage": asdict(row.passage)}
