"""Relevance of a file to what the caller asked for, without a language model: evidence, weighted and calibrated."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from querymill_workers.domain.bm25 import Scored, idf
from querymill_workers.domain.calibration import Calibration
from querymill_workers.domain.code import code_text
from querymill_workers.domain.words import words

#: Lines of a window in which words count as standing together, and how far apart windows begin.
WINDOW: Final = 40
STRIDE: Final = 20
#: A file's parts in an excerpt, and how much of the best one's words each of them must have.
MOST_PARTS: Final = 3
LEAST_SHARE: Final = 0.5

#: First and last line, from 1.
Lines = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Intent:
    """What the caller asked for, in words: how much each weighs (times × idf), and the best BM25 score there is.

    It is made once from the request and never from what was found, so that no round moves it.
    """

    weights: Mapping[str, float]
    best: float

    @property
    def whole(self) -> float:
        """What all words weigh together."""
        return sum(self.weights.values())

    def share(self, found: Iterable[str]) -> float:
        """Return the weight of the words that are among those found, as a share of all."""
        kept = set(found)
        whole = self.whole
        return sum(weight for word, weight in self.weights.items() if word in kept) / whole if whole > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for a file, each from 0 to 1.

    ``lexical`` is its BM25 score as a share of the best file's, ``covered`` the share of the intent's words that it
    has, ``path``, ``names`` and ``passage`` the share in its path, in the names it defines, and in its best window.
    ``vector`` is the cosine of its nearest chunk, None while it has no vector.
    """

    lexical: float
    covered: float
    path: float
    names: float
    passage: float
    vector: float | None = None


@dataclass(frozen=True, slots=True)
class RelevanceProfile:
    """Measured on judged files: how much each kind of evidence weighs, and the bands laid through the sums."""

    weights: Mapping[str, float]
    bands: Calibration


@dataclass(frozen=True, slots=True)
class FileProfiles:
    """The profile for files with words alone, and the one where vectors are compared too."""

    words: RelevanceProfile
    vectors: RelevanceProfile | None = None


def intent_of(text: str, found: Sequence[Scored]) -> Intent:
    """Weigh the words of a request by what a search for them found; a word that no file has weighs the most."""
    if not found:
        return Intent({}, 0.0)
    times = [*words(code_text(text))]
    known = {term.term: term for scored in found for term in scored.terms}
    rarest = idf(found[0].statistics.units, 0)
    weights = {
        word: times.count(word) * (known[word].idf if word in known else rarest) for word in dict.fromkeys(times)
    }
    return Intent(weights, max(scored.score for scored in found))


def evidence_of(
    intent: Intent, scored: Scored | None, *, path: str, names: Sequence[str], content: str, cosine: float | None
) -> Evidence:
    """Gather what speaks for a file.

    Args:
        intent: What the caller asked for.
        scored: The file's BM25 score for it; None when it has none of the words.
        path: The file's path.
        names: The names that it defines.
        content: The whole file.
        cosine: Of its nearest chunk, None without vectors.
    """
    found = windows(content)
    return Evidence(
        lexical=scored.score / intent.best if scored is not None and intent.best > 0 else 0.0,
        covered=intent.share(term.term for term in scored.terms) if scored is not None else 0.0,
        path=intent.share(words(code_text(path.replace("/", " ")))),
        names=intent.share(chain.from_iterable(words(code_text(name)) for name in names)),
        passage=max((intent.share(held) for _, held in found), default=0.0),
        vector=cosine,
    )


def relevance(evidence: Evidence, profiles: FileProfiles) -> float:
    """Weigh the evidence and read its relevance off the bands, from 0 to 1."""
    with_vector = evidence.vector is not None and profiles.vectors is not None
    profile = profiles.vectors if with_vector and profiles.vectors is not None else profiles.words
    return min(1.0, max(0.0, profile.bands.similarity(summed(evidence, profile))))


def summed(evidence: Evidence, profile: RelevanceProfile) -> float:
    """Return ``Σ weight × evidence``; evidence without a weight does not count."""
    return sum(weight * (getattr(evidence, name) or 0.0) for name, weight in profile.weights.items())


def windows(content: str) -> list[tuple[Lines, frozenset[str]]]:
    """Cut a file into overlapping windows of 40 lines, each with its words."""
    of_lines = [words(code_text(line)) for line in content.splitlines()]
    starts = range(0, max(1, len(of_lines) - WINDOW + STRIDE), STRIDE)
    return [
        (
            (start + 1, min(start + WINDOW, len(of_lines))),
            frozenset(chain.from_iterable(of_lines[start : start + WINDOW])),
        )
        for start in starts
        if of_lines
    ]


def excerpt(intent: Intent, content: str) -> list[Lines]:
    """Choose the lines of a file that speak of the intent: its best window, and others that add words to it.

    Returns:
        At most three parts in the order of the file, none overlapping; [] for a file with none of the words.
    """
    found = sorted(windows(content), key=lambda window: (-intent.share(window[1]), window[0]))
    least = LEAST_SHARE * intent.share(found[0][1]) if found else 0.0
    chosen: list[Lines] = []
    for lines, held in found:
        share = intent.share(held)
        if share <= 0 or share < least or len(chosen) == MOST_PARTS:
            break
        if all(lines[0] > other[1] or lines[1] < other[0] for other in chosen):
            chosen.append(lines)
    return sorted(chosen)
