"""The part of the world that the services may touch: models, and a store of vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from querymill_workers.inference.answer_ports import Answers
from querymill_workers.inference.ports import Embeddings, Judge
from querymill_workers.jobs.ports import Common
from querymill_workers.jobs.revisions import ContentHash


@dataclass(frozen=True, slots=True)
class TextVector:
    """The vector of a text, and the hash of what was embedded."""

    text_id: str
    content: ContentHash
    embedding: npt.NDArray[np.float32]


class TextVectors(Protocol):
    """The vectors of single texts: one row per collection, text and model."""

    def stored(self, collection: str, text_ids: Sequence[str], *, model: str) -> Mapping[str, ContentHash]:
        """Return the hash of what was embedded, for each of the texts that has a vector of this model."""
        ...

    def store(self, collection: str, vectors: Sequence[TextVector], *, model: str) -> None:
        """Store vectors, and replace those of the same text and model. Idempotent."""
        ...


class EmbedPorts(Common, Protocol):
    """What `embed` may touch."""

    @property
    def embeddings(self) -> Embeddings: ...

    @property
    def text_vectors(self) -> TextVectors: ...


class RerankPorts(Common, Protocol):
    """What `rerank` may touch."""

    @property
    def judge(self) -> Judge: ...


class AnswerPorts(Common, Protocol):
    """What writing and judging an answer may touch."""

    @property
    def answers(self) -> Answers: ...


class ServicePorts(EmbedPorts, RerankPorts, AnswerPorts, Protocol):
    """What the services may touch together."""
