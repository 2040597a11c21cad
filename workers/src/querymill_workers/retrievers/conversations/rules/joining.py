"""Join the order of sessions by words with their order by vectors, by rank and never by score."""

from collections.abc import Sequence
from typing import Final

from querymill_shared.values import value
from querymill_workers.text.rank_fusion import JoinedHit, reciprocal_rank_fusion

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
    """What words and vectors weigh, and the words of an average entry that this follows from."""

    words: float
    vectors: float
    entry_words: float


#: The weights if nothing was found by words, so that nothing is known of the entries.
UNKNOWN_LENGTH: Final = JoinWeights(1.0, LONG_WEIGHT, 0.0)


def join_weights(entry_words: float) -> JoinWeights:
    """Return what words and vectors weigh in a collection whose entries have so many words on average.

    A short entry gives words little to match, and its vector is of all of it. A long entry has many words, and the
    vector of its nearest passage is of a part of it. So vectors weigh 0.9 up to 40 words, and 0.9 × 40 / words above,
    but at least 0.25. It is rounded to two decimals, because an explanation shows it.

    Worked example: titles of 12 words give 0.9, threads of 80 words 0.45, and sessions of 400 words 0.25.
    """
    weight = SHORT_WEIGHT * SHORT_WORDS / max(entry_words, SHORT_WORDS)
    return JoinWeights(1.0, round(max(weight, LONG_WEIGHT), 2), entry_words)


def join_orders(words: Sequence[str], vectors: Sequence[str], weights: JoinWeights) -> list[JoinedHit[str]]:
    """Join two orders of sessions, best first, ties by id.

    Worked example: words a, b and vectors b, c at 0.25 give b 1/12 + 0.25/11 = 0.1061, a 1/11 = 0.0909,
    c 0.25/12 = 0.0208.
    """
    by_channel = {"words": weights.words, "vectors": weights.vectors}
    return reciprocal_rank_fusion({"words": words, "vectors": vectors}, weights=by_channel, k=RRF_K)
