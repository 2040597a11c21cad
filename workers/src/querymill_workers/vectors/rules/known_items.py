"""Where words and vectors rank the passage that each drafted question was taken from, among passages of the collection.

Both are ranked in memory, by the same rule for every kind: a sample of a thousand passages is enough to tell a good
model from a poor one, and no store is asked.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from querymill_shared.values import value
from querymill_workers.text.bm25 import K1, B, idf
from querymill_workers.text.words import words
from querymill_workers.vectors.rules.drafts import Draft

Floats = npt.NDArray[np.floating]
#: Cosines that differ by less than this are equal: of a model that gives every text one vector, all are.
ROUNDING: Final = 1e-6
#: Unrelated passages whose cosine is kept for each question.
UNRELATED: Final = 8


@value
class SampledPassage:
    """A passage of the sample, the document that it is of, and its vector of length 1.

    ``counts`` are the words by which a search finds it: its own, or those of its whole document where the kind indexes
    more than it embeds.
    """

    document: str
    counts: Mapping[str, float]
    vector: Floats


@value
class AskedPassage:
    """A question drafted from the passage at ``place`` of a sample, with its vector and that of the rest."""

    place: int
    draft: Draft
    question: Floats
    rest: Floats


@value
class FoundItem:
    """How a question found its passage: 1 / rank by words and by vectors, 0 for not at all.

    ``nearer`` is the share of other passages that are nearer to the question. ``related`` is the cosine of the question
    and its passage, ``unrelated`` are cosines of the question and passages of other documents.
    """

    words: float
    vectors: float
    nearer: float
    related: float
    unrelated: tuple[float, ...]


def find_items(sample: Sequence[SampledPassage], asked: Sequence[AskedPassage]) -> list[FoundItem]:
    """Rank the passage of each question by BM25 and by cosine, among the sampled passages of other documents.

    The passage itself stands without the part that the question was taken from. Ties share the mean of their ranks.
    """
    if not asked:
        return []
    index = _Index([passage.counts for passage in sample])
    vectors = np.array([passage.vector for passage in sample])
    documents = np.array([passage.document for passage in sample])
    found = []
    for item in asked:
        others = documents != documents[item.place]
        asked_words = words(item.draft.question)
        rest = Counter(sample[item.place].counts)
        rest.subtract(Counter(words(item.draft.taken)))
        by_words = index.score(asked_words)[others]
        cosines = (vectors @ item.question)[others]
        own, cosine = index.score_counts(asked_words, +rest), float(item.rest @ item.question)
        nearer = _above(cosines, cosine)
        found.append(
            FoundItem(
                words=1 / (1 + _above(by_words, own)) if own > 0 else 0.0,
                vectors=1 / (1 + nearer),
                nearer=nearer / max(len(cosines), 1),
                related=cosine,
                unrelated=tuple(float(each) for each in cosines[:: max(len(cosines) // UNRELATED, 1)][:UNRELATED]),
            )
        )
    return found


def _above(scores: Floats, own: float) -> float:
    return float(np.sum(scores > own + ROUNDING) + np.sum(np.abs(scores - own) <= ROUNDING) / 2)


class _Index:
    """BM25 over the words of texts, as `bm25.score` computes it, for all texts at once."""

    def __init__(self, counts: Sequence[Mapping[str, float]]) -> None:
        lengths = np.array([max(sum(each.values()), 1) for each in counts], float)
        self._average = float(lengths.mean())
        self._norms = K1 * (1 - B + B * lengths / self._average)
        self._units = len(counts)
        places: dict[str, list[int]] = defaultdict(list)
        times: dict[str, list[float]] = defaultdict(list)
        for place, each in enumerate(counts):
            for word, count in each.items():
                places[word].append(place)
                times[word].append(count)
        self._postings = {word: (np.array(places[word]), np.array(times[word], float)) for word in places}

    def score(self, asked: Sequence[str]) -> Floats:
        scores = np.zeros(self._units)
        for word in asked:
            if word in self._postings:
                places, times = self._postings[word]
                scores[places] += idf(self._units, len(places)) * times / (times + self._norms[places])
        return scores

    def score_counts(self, asked: Sequence[str], counts: Mapping[str, float]) -> float:
        norm = K1 * (1 - B + B * max(sum(counts.values()), 1) / self._average)
        known = [word for word in asked if word in counts]
        return sum(
            idf(self._units, len(self._postings[word][0])) * counts[word] / (counts[word] + norm) for word in known
        )
