"""The intent of a request: its words with their weights, and where they occur in a file."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import chain
from typing import Final

from querymill_shared.values import value
from querymill_workers.retrievers.files.rules.code import code_text, lines_of
from querymill_workers.retrievers.files.rules.synonyms import SHARE
from querymill_workers.text.bm25 import Scored, idf
from querymill_workers.text.words import plain, words

_CHANGED_BY_STEMMING: Final = 2

#: Rare words that an agent would search for, and lines it reads around each match.
GREP_WORDS, GREP_LINES = 2, 20
#: First and last line, from 1.
Lines = tuple[int, int]


@value
class Intent:
    """The words of the request with their weights (occurrences × idf), and the best BM25 score of any file.

    ``synonyms`` maps each synonym of a word to that word. The intent depends on the request and never on the files
    found, so that no round changes it.
    """

    weights: Mapping[str, float]
    best: float
    synonyms: Mapping[str, str] = field(default_factory=dict)

    @property
    def whole(self) -> float:
        """The weight of all words together."""
        return sum(self.weights.values())

    def counted(self, word: str) -> tuple[str, float]:
        """Return the word of the request that a word of a text counts for, and how much: 0 for any other word."""
        if word in self.weights:
            return word, 1.0
        return self.synonyms.get(word, word), SHARE if word in self.synonyms else 0.0

    def share(self, found: Iterable[str]) -> float:
        """Return the weight of the intent's words that were found, as a share of the weight of all."""
        kept = set(found)
        whole = self.whole
        return sum(weight for word, weight in self.weights.items() if word in kept) / whole if whole > 0 else 0.0


def intent_of(text: str, found: Sequence[Scored], synonyms: Mapping[str, str] | None = None) -> Intent:
    """Weigh the words of a request by the files that a search found for them; a word in no file weighs most.

    A Chinese word in no file is left out: it says that the code is written in another language, not what it lacks.

    Args:
        text: What was searched.
        found: The BM25 scores of the files found.
        synonyms: What stands for which word.
    """
    if not found:
        return Intent({}, 0.0)
    times = words(text)
    known = {term.term: term for scored in found for term in scored.terms}
    rarest = idf(found[0].statistics.units, 0)
    weights = {
        word: times.count(word) * (known[word].idf if word in known else rarest)
        for word in dict.fromkeys(times)
        if word in known or word.isascii()
    }
    return Intent(weights, max(scored.score for scored in found), synonyms or {})


def speaking(intent: Intent, names: Sequence[str]) -> list[str]:
    """List the names that have a word of the intent, those with the largest share first, ties by name."""
    may_hold = _may_hold(intent)
    shares = {
        name: intent.share(words(code_text(name)))
        for name in dict.fromkeys(names)
        if may_hold is not None and may_hold.search(plain(name))
    }
    return sorted((name for name, share in shares.items() if share > 0), key=lambda name: (-shares[name], name))


def words_of_lines(intent: Intent, lines: Sequence[str]) -> dict[int, list[str]]:
    """Read, by number, the words of the lines that may hold a word of the intent; reading the others would be waste."""
    may_hold = _may_hold(intent)
    if may_hold is None:
        return {}
    return {
        number: words(code_text(line)) for number, line in enumerate(lines, start=1) if may_hold.search(plain(line))
    }


def grepped(intent: Intent, content: str) -> str:
    """Return what an agent would read that searches a file for the two rarest words: 20 lines around each match."""
    rarest = sorted(intent.weights, key=lambda word: (-intent.weights[word], word))[:GREP_WORDS]
    may_hold = _may_hold(Intent(dict.fromkeys(rarest, 1.0), 0.0))
    lines = lines_of(content)
    if may_hold is None:
        return ""
    kept: set[int] = set()
    for number, line in enumerate(lines):
        if may_hold.search(plain(line)):
            kept.update(range(max(0, number - GREP_LINES), min(len(lines), number + GREP_LINES + 1)))
    return "\n".join(lines[number] for number in sorted(kept))


def _may_hold(intent: Intent) -> re.Pattern[str] | None:
    # A stem differs from its word in the last letters only. Words are escaped because a request is not an expression.
    beginnings = {word[: max(1, len(word) - _CHANGED_BY_STEMMING)] for word in chain(intent.weights, intent.synonyms)}
    return re.compile("|".join(map(re.escape, sorted(beginnings)))) if beginnings else None
