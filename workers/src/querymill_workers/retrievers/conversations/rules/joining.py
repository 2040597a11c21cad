"""Join the order of sessions by words with their order by vectors, by rank and never by score."""

from collections.abc import Sequence
from typing import Final

from querymill_shared.values import value
from querymill_workers.text.languages import Language
from querymill_workers.text.rank_fusion import JoinedHit, reciprocal_rank_fusion
from querymill_workers.vectors.rules.weights import VectorsWeight, choose_weight
from querymill_workers.vectors.rules.worth import VectorsWorth

#: The weight of vectors against 1 of words, where entries are long: 1 to 1 loses up to 0.06 of nDCG@10 there.
LONG_WEIGHT: Final = 0.25
#: The same, where entries are short. Words decide where the two orders only swap places; at 1 the id would.
SHORT_WEIGHT: Final = 0.9
#: The most words of a short entry, on average: as many as 400 characters of English have, one embedded passage.
SHORT_WORDS: Final = 40
#: Measured beside 60: 0.01 better on chats, 0.003 worse on Chinese titles (`tests/quality/conversations.md`).
RRF_K: Final = 10
#: The same, for explanations.
FORMULA: Final = "Σ weight / (k + rank) over words and vectors"


@value
class JoinWeights:
    """What words and vectors weigh, and the words of an average entry, which decide where nothing else is known."""

    words: float
    vectors: VectorsWeight
    entry_words: float


#: The weights if nothing was found by words, so that nothing is known of the entries.
UNKNOWN_LENGTH: Final = JoinWeights(1.0, VectorsWeight(LONG_WEIGHT), 0.0)


def join_weights(
    entry_words: float | None,
    asked: float | None = None,
    worth: VectorsWorth | None = None,
    language: Language = "en",
) -> JoinWeights:
    """Return what words and vectors weigh: as was asked, as the vectors of the collection were estimated, or by length.

    ``entry_words`` is the number of words of an average entry, None if nothing was found by words. A short entry gives
    words little to match, and its vector is of all of it. A long entry has many words, and the vector of its nearest
    passage is of a part of it. So vectors weigh 0.9 up to 40 words, and 0.9 × 40 / words above, but at least 0.25. It
    is rounded to two decimals, because an explanation shows it.

    Worked example: titles of 12 words give 0.9, threads of 80 words 0.45, and sessions of 400 words 0.25.
    """
    usual = LONG_WEIGHT
    if entry_words is not None:
        usual = round(max(SHORT_WEIGHT * SHORT_WORDS / max(entry_words, SHORT_WORDS), LONG_WEIGHT), 2)
    return JoinWeights(1.0, choose_weight(asked, worth, usual=usual, language=language), entry_words or 0.0)


def join_orders(words: Sequence[str], vectors: Sequence[str], weights: JoinWeights) -> list[JoinedHit[str]]:
    """Join two orders of sessions, best first, ties by id.

    Worked example: words a, b and vectors b, c at 0.25 give b 1/12 + 0.25/11 = 0.1061, a 1/11 = 0.0909,
    c 0.25/12 = 0.0208.
    """
    by_channel = {"words": weights.words, "vectors": weights.vectors.weight}
    return reciprocal_rank_fusion({"words": words, "vectors": vectors}, weights=by_channel, k=RRF_K)
