"""What the vectors of one search weigh, and how a hit explains it."""

from typing import Any, Final, Literal

from querymill_shared.values import value
from querymill_workers.text.languages import Language
from querymill_workers.vectors.rules.worth import VectorsWorth

#: Who sets a weight: the request, the estimate of the collection, or the kind, where neither does.
WeightOrigin = Literal["request", "estimate", "kind"]
#: Vectors that are worth less lift few documents, and are not worth a call of the model where nobody asks for them.
LEAST_WEIGHT: Final = 0.25
#: Decimals of an estimate in an explanation.
_SHOWN_PLACES: Final = 3


@value
class VectorsWeight:
    """What vectors weigh in a search, beside 1 of the words, and who says so. ``worth``: what is known of the model."""

    weight: float
    origin: WeightOrigin = "kind"
    worth: VectorsWorth | None = None

    @property
    def is_worth_a_call(self) -> bool:
        """Whether vectors that nobody asked for are to be compared.

        >>> VectorsWeight(0.25, "estimate").is_worth_a_call, VectorsWeight(0.2, "estimate").is_worth_a_call
        (True, False)
        >>> VectorsWeight(1.0, "kind").is_worth_a_call
        False
        """
        return self.origin != "kind" and self.weight >= LEAST_WEIGHT


def choose_weight(
    asked: float | None, worth: VectorsWorth | None, *, usual: float, language: Language
) -> VectorsWeight:
    """Choose the weight of vectors: as the request asks, as the collection was estimated, or else as is ``usual``.

    The estimate says nothing of a question in another ``language`` than the collection's: it has few of its words.
    """
    if asked is not None:
        return VectorsWeight(asked, "request", worth)
    if worth is not None and worth.weight is not None and worth.language == language:
        return VectorsWeight(worth.weight, "estimate", worth)
    return VectorsWeight(usual, "kind", worth)


def explain_weight(chosen: VectorsWeight) -> dict[str, Any]:
    """Say where a weight comes from; of an estimate, what it was made of.

    With ``vectors_weight_from`` "estimate", ``vectors_worth`` has the mean reciprocal ranks of words and vectors on so
    many questions, and the bounds of the weight.
    """
    explained: dict[str, Any] = {"vectors_weight_from": chosen.origin}
    worth = chosen.worth
    if chosen.origin != "estimate" or worth is None:
        return explained
    return explained | {
        "vectors_worth": {
            "words": round(worth.words, _SHOWN_PLACES),
            "vectors": round(worth.vectors, _SHOWN_PLACES),
            "questions": worth.items,
            "low": worth.low,
            "high": worth.high,
        }
    }
