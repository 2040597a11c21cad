"""The part of the world that the services may touch: models, and a store of vectors."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, get_args

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.feedback import GiveFeedback, HitJudgement, KeptJudgement
from querymill_shared.contracts.filters import Retriever
from querymill_shared.values import value
from querymill_workers.inference.answer_ports import Answers
from querymill_workers.inference.ports import Embeddings, InputType, Judge
from querymill_workers.jobs.ports import Common
from querymill_workers.jobs.processor import Count
from querymill_workers.jobs.revisions import ContentHash
from querymill_workers.vectors.ports import Vectors
from querymill_workers.versions.ports import Versions


@value
class TextVector:
    """The vector of a text, and the hash of what was embedded. ``document`` is the one that the text is a part of."""

    text_id: str
    content: ContentHash
    embedding: npt.NDArray[np.float32]
    document: str | None = None


class TextVectors(Protocol):
    """The vectors of single texts: one row per collection, text and model."""

    def stored(self, collection: str, text_ids: Sequence[str], *, model: str) -> Mapping[str, ContentHash]:
        """Return the hash of what was embedded, for each of the texts that has a vector of this model."""
        ...

    def store(self, collection: str, vectors: Sequence[TextVector], *, model: str) -> None:
        """Store vectors, and replace those of the same id and model. Idempotent.

        A text that is stored unchanged stays a part of its document if this does not name one.
        """
        ...

    def assign(self, collection: str, documents: Mapping[str, str], *, model: str) -> None:
        """Record by text id which document each of some stored texts is a part of."""
        ...

    def holds(self, collection: str) -> bool:
        """Return whether there is a vector of any text of a collection."""
        ...

    def drop(self, collection: str, *, text_ids: Collection[str], texts: Collection[str]) -> None:
        """Drop the vectors of some texts, of every model.

        They are those of texts with these ids, of parts of documents with these ids, and of texts that are the same as
        these.
        """
        ...

    def drop_all(self, collection: str) -> None:
        """Drop all vectors of a collection."""
        ...


class JudgementKey(NamedTuple):
    """What identifies a judgement in its collection and retriever: the search, and its hit."""

    job: str
    hit: str


class Judgements(Protocol):
    """What people said of hits. Every call names its collection and retriever and sees no other."""

    def keep(self, request: GiveFeedback, judgements: Sequence[HitJudgement]) -> None:
        """Keep some judgements of a request; each replaces what was said of the same hit of the same job."""
        ...

    def list(
        self, collection: str, retriever: Retriever, *, limit: int, after: JudgementKey | None
    ) -> Sequence[KeptJudgement]:
        """List judgements in the order of their keys, after one."""
        ...

    def count(self, collection: str, retriever: Retriever) -> int:
        """Count all judgements."""
        ...

    def drop(self, collection: str, retriever: Retriever, documents: Collection[str]) -> None:
        """Delete the judgements of documents."""
        ...

    def drop_all(self, collection: str, retriever: Retriever) -> None:
        """Delete all judgements."""
        ...


def asked_of(request: GiveFeedback) -> Mapping[str, Any]:
    """Return the search of a judgement as it is stored: the fields that were given."""
    return request.asked.model_dump(mode="json", exclude_defaults=True) | {"kind": request.of}


def content_of(text: str, input_type: InputType) -> ContentHash:
    """Hash a text together with the side of a search that it is embedded for."""
    return ContentHash(hashlib.sha256(f"{input_type}\n{text}".encode()).hexdigest())


def contents_of(texts: Collection[str]) -> set[ContentHash]:
    """Hash texts for either side of a search."""
    return {content_of(text, side) for text in texts for side in get_args(InputType)}


class EmbedPorts(Common, Protocol):
    """What `embed` may touch."""

    @property
    def embeddings(self) -> Embeddings: ...

    @property
    def text_vectors(self) -> TextVectors: ...

    @property
    def versions(self) -> Versions: ...


class RerankPorts(Common, Protocol):
    """What `rerank` may touch."""

    @property
    def judge(self) -> Judge: ...


class AnswerPorts(Common, Protocol):
    """What writing and judging an answer may touch."""

    @property
    def answers(self) -> Answers: ...


@value
class Answered:
    """What an address answered: its status, 0 if it did not, what is said of it, and when it asks to be called again.

    ``said`` has neither the address's path nor anything of its reply.
    """

    status: int = 0
    said: str = ""
    retry_after_s: float = 0.0


class Caller(Protocol):
    """Tells addresses that a job has ended."""

    def tell(self, url: str, headers: Mapping[str, str], body: bytes) -> Answered:
        """Send a message once. An address that may not be called is not, and has not answered."""
        ...


class CallbackSecretsInUse(Protocol):
    """The secrets that sign messages."""

    def valid(self, key_id: str) -> Sequence[bytes]:
        """Return the secrets that sign now for the jobs of an API key, the newest first; "" stands for no key."""
        ...

    def now(self) -> int:
        """Return the time in seconds since the epoch, as messages are stamped."""
        ...


class CallbackPorts(Common, Protocol):
    """What telling callers may touch."""

    @property
    def caller(self) -> Caller: ...

    @property
    def callback_secrets(self) -> CallbackSecretsInUse: ...

    @property
    def count(self) -> Count: ...


class SetAsidePorts(Common, Protocol):
    """What listing refused texts may touch."""

    @property
    def vectors(self) -> Mapping[Retriever, Vectors]: ...


class FeedbackPorts(Common, Protocol):
    """What keeping and listing judgements may touch."""

    @property
    def judgements(self) -> Judgements: ...

    @property
    def versions(self) -> Versions: ...


class ServicePorts(
    EmbedPorts, RerankPorts, AnswerPorts, SetAsidePorts, FeedbackPorts, CallbackPorts, Protocol
):  # fmt: skip
    """What the services may touch together."""
