"""What the vectors of a model are worth on a collection beside its words, and where their cosines lie.

The weight was fitted on eleven evaluation sets with two models: `tests/quality/worth.md`.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from querymill_shared.calibration import fit_points
from querymill_shared.values import value
from querymill_workers.text.languages import Language
from querymill_workers.vectors.rules.known_items import Floats, FoundItem

#: What the words of people's questions find, of what those of drafted ones do: a sentence of a passage shares more
#: words with the rest of it than a person's question does.
LIKE_PEOPLE: Final = 0.9
#: About the best that words or vectors did on a set that was measured. Questions that are easier, as in a collection of
#: a hundred passages, count as if they were as hard: where nearly all are found, a few of them would decide.
EASIEST: Final = 0.7
#: How fast the weight follows the odds, and what is added to either side of them, so that luck cannot decide.
POWER, ADDED_HITS, ADDED_MISSES = 5, 0.1, 0.05
#: Beyond these the words only break ties, or the vectors do.
MOST, LEAST = 256.0, 0.01
#: If neither words nor vectors reach this mean reciprocal rank, the questions say nothing of the two.
TELLING: Final = 0.1
#: Standard errors by which a model must be better than chance.
SURE: Final = 3.0
#: The fewest questions that say anything.
MIN_ITEMS: Final = 40
#: Resamples of the questions; the bounds of the interval and the weight itself, in percent of what they give. Too much
#: weight costs more than too little, so three of four give more.
RESAMPLES, LOW, CAUTIOUS, HIGH = 200, 5, 25, 95


@value
class VectorsWorth:
    """What a model's vectors are worth on a collection.

    ``weight`` is that of the vectors in the join of channels, beside 1 of the words, and None where the questions said
    nothing: then the weight of the kind holds. It is the lower quartile of what resampled questions give; ``low`` and
    ``high`` bound nine tenths of them.
    ``words`` and ``vectors`` are the mean reciprocal ranks of both. ``points`` map cosines to similarities. The
    estimate is of ``items`` questions, most of them in the ``language``, and of a collection of ``passages`` passages.
    """

    weight: float | None
    low: float
    high: float
    words: float
    vectors: float
    items: int
    passages: int
    language: Language = "en"
    points: tuple[tuple[float, float], ...] = ()


def weight_of(words: float, vectors: float) -> float:
    """Return the weight of vectors, from the mean reciprocal ranks of both on the same questions.

    ``(odds of vectors / odds of 0.9 × words)⁵``, where the odds of x are ``(x + 0.1) / (1 − x + 0.05)``: rounded to two
    decimals, 0 below 0.01 and at most 256. If the better one is above 0.7, both are first divided by as much as makes
    it 0.7.

    Worked example: words 0.50 and vectors 0.40 give ((0.5 / 0.65) / (0.55 / 0.6))⁵ = 0.42. Vectors 0.45, as good as the
    words are with people's questions, give 1, perfect ones beside words 0.5 256, and those of a random model 0. Both
    0.95 count as 0.7, and give ((0.8 / 0.35) / (0.73 / 0.42))⁵ = 3.93.
    """
    scale = EASIEST / max(words, vectors, EASIEST)
    weight = (_odds(scale * vectors) / _odds(LIKE_PEOPLE * scale * words)) ** POWER
    return 0.0 if weight < LEAST else round(min(weight, MOST), 2)


def estimate_worth(found: Sequence[FoundItem], *, passages: int, language: Language) -> VectorsWorth:
    """Estimate what vectors are worth, from how drafted questions found their passages.

    Fewer questions than `MIN_ITEMS` say nothing.
    """
    if len(found) < MIN_ITEMS:
        return VectorsWorth(None, 0.0, 0.0, 0.0, 0.0, len(found), passages, language)
    ranks = np.array([(item.words, item.vectors) for item in found])
    by_words, by_vectors = (float(mean) for mean in ranks.mean(axis=0))
    chance = np.random.Generator(np.random.PCG64(len(found)))  # the same each time
    drawn = (ranks[chance.integers(0, len(ranks), len(ranks))].mean(axis=0) for _ in range(RESAMPLES))
    weights = [weight_of(float(words), float(vectors)) for words, vectors in drawn]
    low, cautious, high = (round(float(each), 2) for each in np.percentile(weights, [LOW, CAUTIOUS, HIGH]))
    weight: float | None = None
    points: tuple[tuple[float, float], ...] = ()
    if is_chance(np.array([item.nearer for item in found])):
        weight = 0.0
    elif max(by_words, by_vectors) >= TELLING:
        weight, points = cautious, _points(found)
    return VectorsWorth(weight, low, high, by_words, by_vectors, len(found), passages, language, points)


def is_chance(nearer: Floats) -> bool:
    """Return whether passages are as far from their questions as any others are.

    By chance, a share of 0.5 of the others is nearer to a question: on average of 100 questions, 0.5 ± 0.029. So a
    share above 0.413 is chance.
    """
    return bool(nearer.mean() > 0.5 - SURE / np.sqrt(12 * len(nearer)))


def _points(found: Sequence[FoundItem]) -> tuple[tuple[float, float], ...]:
    try:
        return tuple(
            fit_points([item.related for item in found], [cosine for item in found for cosine in item.unrelated])
        )
    except ValueError:
        return ()  # all cosines are the same


def _odds(mean: float) -> float:
    return (mean + ADDED_HITS) / (1 - mean + ADDED_MISSES)
