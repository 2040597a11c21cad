"""What is asked of models: embedding, rewording, judging."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.fields import Lane
from querymill_workers.jobs.usage import Usage
from querymill_workers.text.calibration import Calibration

#: One vector per row, float32.
Vectors = npt.NDArray[np.float32]


InputType = Literal["query", "passage"]


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf a model is asked: which collection, in which lane, and until when.

    ``expires_at`` is in monotonic seconds; None has no end.
    """

    collection: str
    lane: Lane
    expires_at: float | None = None


class Embeddings(Protocol):
    """Turns texts into vectors of one model, checked: right number, right dimension, all finite."""

    @property
    def model(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, Usage]:
        """Embed texts, one row each.

        Raises:
            Unavailable: The provider is away or slow.
            Refused: It answered with something that must not be stored or searched with, or its limit
                leaves no call before the caller's time is up.
        """
        ...


@dataclass(frozen=True, slots=True)
class FormerModel:
    """The embedding model before this one, while it can be asked still, and what its cosines mean."""

    embeddings: Embeddings
    calibration: Calibration


class Rewriter(Protocol):
    """Asks a chat model to reword a question by a method (hyde, synonym, subquestion, variant)."""

    def rewrite(self, method: str, question: str, *, terms: Mapping[str, str], caller: Caller) -> tuple[str, Usage]:
        """Return the model's reply as it came.

        Raises:
            Unavailable: No reply in time, or none that could be read.
            Refused: The provider's limit leaves no call before the caller's time is up.
        """
        ...


class Judge(Protocol):
    """Says how relevant passages are to a query, each from 0 to 1."""

    def judge(self, query: str, passages: Mapping[str, str], *, caller: Caller) -> tuple[Mapping[str, float], Usage]:
        """Judge passages by their ids; a passage that is left out was not judged. At least one passage.

        Raises:
            Unavailable: No answer in time, or none that could be read.
            Refused: An answer that asking again would not better, or no call before the caller's time is up.
        """
        ...
