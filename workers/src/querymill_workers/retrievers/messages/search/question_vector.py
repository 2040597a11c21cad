"""The vector of a question, by the model that its collection is searched by, and the cosine that a row must reach."""

from collections.abc import Callable
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.values import value
from querymill_workers.inference.carrying import carry
from querymill_workers.jobs.deadline import EMBEDDING_PATIENCE_S
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.retrievers.messages.embed import EMBEDDABLE
from querymill_workers.retrievers.messages.ports import MessagePorts
from querymill_workers.retrievers.messages.search.matches import CalibratedQuestion, Gap
from querymill_workers.retrievers.messages.search.understand import MessageQuestion
from querymill_workers.text.calibration import ROUNDING, Calibration
from querymill_workers.vectors.question import compared_model, embed_by
from querymill_workers.vectors.rules.worth import VectorsWorth

#: Time kept free before the deadline, so that a search by text can follow a failed embedding, in seconds.
FALLBACK_MARGIN_S: Final = 0.3


@value
class MessageVector:
    """A question with its vector, what the vector cost, and what of the question was cut."""

    question: CalibratedQuestion
    usage: ProviderUsage
    cuts: tuple[Gap, ...]


@value
class Embedding:
    """A question that is being embedded, or is embedded when its vector is waited for.

    ``wait`` returns the vector, or why there is none in time.
    """

    is_running: bool
    wait: Callable[[], MessageVector | Gap]


def begin_embedding(claim: Claim, asked: MessageQuestion, ports: MessagePorts) -> Embedding:
    """Begin to embed a question, if its words can answer meanwhile and its vector is not known already.

    Raises:
        Unavailable: A store is away. That is no reason to search by text: the next attempt finds it back.
    """
    request = asked.request
    try:
        model, previous = compared_model(EMBEDDABLE, request.collection, ports), ports.previous
    except (Unavailable, Refused) as error:
        gap = gap_of(error)
        return Embedding(is_running=False, wait=lambda: gap)
    is_previous = previous is not None and model is previous.embeddings
    calibration = previous.calibration if is_previous and previous is not None else ports.calibration

    def embed() -> MessageVector | Gap:
        try:
            embedded = embed_by(
                model, claim, request, [asked.meaning], ports,
                margin_s=FALLBACK_MARGIN_S, patience_s=EMBEDDING_PATIENCE_S,
            )  # fmt: skip
        except (Unavailable, Refused) as error:
            return gap_of(error)
        worth = ports.vectors[EMBEDDABLE.retriever].worth(request.collection, model=embedded.model)
        mapped = calibration_on(worth, calibration)
        floor = least_cosine(request.similarity_threshold, mapped)
        question = CalibratedQuestion(embedded.vectors[0], embedded.model, mapped, floor, worth)
        return MessageVector(question, embedded.usage, tuple(Gap("embed", cut, "cut") for cut in embedded.cuts))

    if not asked.joins_neighbours:
        return Embedding(is_running=False, wait=embed)
    if model.cached([asked.meaning], input_type="query", collection=request.collection) is not None:
        return Embedding(is_running=False, wait=embed)
    return Embedding(is_running=True, wait=carry(embed, name="question").result)


def gap_of(error: Unavailable | Refused) -> Gap:
    """Return what is missing without a vector, and why. A store that is away is raised again."""
    if error.code == "store_down":
        raise error
    return Gap("embed", str(error), error.code)


def calibration_on(worth: VectorsWorth | None, profile: Calibration) -> Calibration:
    """Return a model's profile, which was measured on judged pairs, or else what its collection was estimated by."""
    return Calibration(worth.points) if worth is not None and not profile.points else profile


def least_cosine(threshold: float | None, calibration: Calibration) -> float:
    """Return the cosine that reaches a threshold, less what float32 cosines may differ by, or one below all cosines."""
    return -2.0 if threshold is None else calibration.floor(threshold) - ROUNDING
