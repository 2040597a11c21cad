"""Embed a question by the model that its collection is searched by: within its patience, or from the cache.

Whoever gets no vector searches by words, and says why in its result.
"""

from collections.abc import Sequence

from querymill_shared.board import Claim
from querymill_shared.contracts.fields import Request
from querymill_shared.values import value
from querymill_workers.inference.ports import Embeddings, Vectors, cut_of
from querymill_workers.jobs.deadline import caller_of
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.vectors.embedding import Embeddable
from querymill_workers.vectors.ports import VectorPorts


@value
class EmbeddedQuestion:
    """The vectors of a question's texts, the model that made them, and the provider calls and tokens.

    ``cuts`` says of each text that is longer than the model's input that it was cut.
    """

    vectors: Vectors
    model: str
    usage: ProviderUsage
    cuts: Sequence[str]


def compared_model(target: Embeddable, collection: str, ports: VectorPorts) -> Embeddings:
    """Return the model whose vectors searches of a collection compare, or the workers' own if it has none yet.

    Raises:
        Refused: The workers cannot ask that model.
    """
    active, own = ports.vectors[target.retriever].active_model(collection), ports.embeddings
    if active in (None, own.model):
        return own
    if ports.previous is not None and active == ports.previous.embeddings.model:
        return ports.previous.embeddings
    raise Refused(
        f"the collection's vectors come from {active} but the workers embed by {own.model};"
        f" run `querymill reembed {target.retriever}`, or set QUERYMILL_PREVIOUS_EMBEDDING_MODEL to {active} until then"
    )


def embed_question(
    target: Embeddable,
    claim: Claim,
    request: Request,
    texts: Sequence[str],
    ports: VectorPorts,
    *,
    margin_s: float,
    patience_s: float | None,
) -> EmbeddedQuestion:
    """Embed the texts of a question.

    The model is waited for up to ``patience_s`` seconds, or with None until ``margin_s`` seconds before the deadline.

    Raises:
        Unavailable, Refused: There are no vectors in time.
    """
    model = compared_model(target, request.collection, ports)
    return embed_by(model, claim, request, texts, ports, margin_s=margin_s, patience_s=patience_s)


def embed_by(
    model: Embeddings,
    claim: Claim,
    request: Request,
    texts: Sequence[str],
    ports: VectorPorts,
    *,
    margin_s: float,
    patience_s: float | None,
) -> EmbeddedQuestion:
    """Embed the texts of a question by a model, as `embed_question` does.

    Raises:
        Unavailable, Refused: There are no vectors in time.
    """
    cuts = tuple(dict.fromkeys(cut for text in texts if (cut := cut_of(text, model))))
    try:
        caller = caller_of(
            claim, request, ports, margin_s=margin_s, what="the embedding model", patience_s=patience_s
        )  # fmt: skip
    except Unavailable:
        # No time is left to ask, but a vector that is cached takes none.
        known = model.cached(texts, input_type="query", collection=request.collection)
        if known is None:
            raise
        return EmbeddedQuestion(known, model.model, ProviderUsage(), cuts)
    vectors, usage = model.embed(texts, input_type="query", caller=caller)
    return EmbeddedQuestion(vectors, model.model, usage, cuts)
