"""Recall documents by vectors of their descriptions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.contracts.results import Degradation
from querymill_shared.values import value
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.retrievers.modules.describe import EMBEDDABLE
from querymill_workers.retrievers.modules.ports import ModulePorts
from querymill_workers.retrievers.modules.rules.documents import DocumentId
from querymill_workers.retrievers.modules.search.understand import UnderstoodRequest, vectors_channel
from querymill_workers.vectors.question import embed_question

#: Time before the deadline that is reserved for comparing vectors after the question is embedded, in seconds.
COMPARE_MARGIN_S: Final = 0.2


@value
class RecalledVectors:
    """The documents with the nearest descriptions and their cosines, by channel, and what could not be compared."""

    near: Mapping[str, Sequence[tuple[DocumentId, float]]]
    gaps: Sequence[Degradation] = ()
    usage: ProviderUsage = field(default_factory=ProviderUsage)


def recall_vectors(
    understood: UnderstoodRequest,
    passing: Collection[DocumentId] | None,
    claim: Claim,
    request: ModuleSearch,
    ports: ModulePorts,
    *,
    patience_s: float | None,
) -> RecalledVectors:
    """Recall the passing documents whose descriptions are nearest to each text, and name what could not be compared.

    Raises:
        Unavailable, Refused: The texts got no vectors within ``patience_s`` seconds, or before the deadline.
    """
    texts = [text.text for text in understood.texts.values()]
    question = embed_question(
        EMBEDDABLE, claim, request, texts, ports, margin_s=COMPARE_MARGIN_S, patience_s=patience_s
    )  # fmt: skip
    documents, pending = None if passing is None else list(passing), 0
    near: dict[str, Sequence[tuple[DocumentId, float]]] = {}
    for channel, vector in zip(understood.texts, question.vectors, strict=True):
        nearest = ports.descriptions.nearest(
            request.collection, vector, model=question.model, limit=request.candidates, documents=documents
        )
        near[vectors_channel(channel)], pending = nearest.found, nearest.pending
    gaps = [Degradation(stage="embed", reason=cut, code="cut") for cut in question.cuts]
    if pending:
        reason = f"{pending} {'description' if pending == 1 else 'descriptions'} pending"
        gaps.insert(0, Degradation(stage="embed", reason=reason, code="pending"))
    return RecalledVectors(near, gaps, question.usage)
