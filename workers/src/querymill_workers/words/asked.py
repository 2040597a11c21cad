"""What a search asks a text index for: each term, and how often."""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from querymill_workers.text.words import words

#: Texts that are searched beside another, and what one word of each counts; a word of the text itself counts 1.
Beside = Mapping[str, float]
NOTHING: Final[Beside] = MappingProxyType({})


def asked_terms(text: str, beside: Beside = NOTHING, also: Sequence[str] = ()) -> dict[str, float]:
    """Return how often a search asks for each term; terms that are ``also`` asked for, 0 times.

    "old ships" beside "ships of Nordhav" at ½ asks for *old* once, *ship* 1.5 times and *nordhav* 0.5 times.
    """
    asked: dict[str, float] = dict(Counter(words(text)))
    for other, weight in beside.items():
        for term in words(other):
            asked[term] = asked.get(term, 0) + weight
    return asked | {term: 0 for term in also if term not in asked}
