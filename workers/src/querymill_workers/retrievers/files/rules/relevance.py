"""A file's relevance to the request, computed without a language model: evidence, weighted and calibrated."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from querymill_workers.retrievers.files.rules.code import code_text, lines_of
from querymill_workers.text.bm25 import Scored, idf
from querymill_workers.text.calibration import Calibration
from querymill_workers.text.words import words

#: Lines in a window, and between the starts of two windows.
WINDOW: Final = 40
STRIDE: Final = 20
#: Parts in an excerpt, and the share of the best part's words that each of them must have.
MAX_PARTS: Final = 3
MIN_SHARE: Final = 0.5
_CHANGED_BY_STEMMING: Final = 2

#: First and last line, from 1.
Lines = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Intent:
    """The words of the request with their weights (occurrences × idf), and the best BM25 score of any file.

    The intent depends on the request and never on the files found, so that no round changes it.
    """

    weights: Mapping[str, float]
    best: float

    @property
    def whole(self) -> float:
        """The weight of all words together."""
        return sum(self.weights.values())

    def share(self, found: Iterable[str]) -> float:
        """Return the weight of the intent's words that were found, as a share of the weight of all."""
        kept = set(found)
        whole = self.whole
        return sum(weight for word, weight in self.weights.items() if word in kept) / whole if whole > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence that a file is relevant, each from 0 to 1.

    ``lexical`` is the file's BM25 score as a share of the best file's. ``covered``, ``path``, ``names`` and
    ``passage`` are the shares of the intent's words that occur in the file, in its path, in the names it defines and
    in its best window. ``vector`` is the cosine of its nearest chunk, None without vectors.
    """

    lexical: float
    covered: float
    path: float
    names: float
    passage: float
    vector: float | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """Lines of a file, and the share of the intent's weight that their words have."""

    lines: Lines
    share: float


@dataclass(frozen=True, slots=True)
class RelevanceProfile:
    """The weight of each kind of evidence, and the curve from weighted sums to relevance; measured on judged files."""

    weights: Mapping[str, float]
    bands: Calibration


@dataclass(frozen=True, slots=True)
class FileProfiles:
    """The profile for files compared by words only, and the profile for files compared by vectors as well."""

    words: RelevanceProfile
    vectors: RelevanceProfile | None = None


def intent_of(text: str, found: Sequence[Scored]) -> Intent:
    """Weigh the words of a request by the files that a search found for them; a word in no file weighs most."""
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
    intent: Intent,
    scored: Scored | None,
    *,
    path: str,
    names: Sequence[str],
    windows: Sequence[Window],
    cosine: float | None,
) -> Evidence:
    """Gather the evidence for a file.

    Args:
        intent: The words of the request.
        scored: The file's BM25 score for the request; None if it has none of the words.
        path: The file's path.
        names: The names it defines; those without a word of the intent may be left out (`speaking`).
        windows: The windows of its content (`windows_of`).
        cosine: The cosine of its nearest chunk; None without vectors.
    """
    return Evidence(
        lexical=scored.score / intent.best if scored is not None and intent.best > 0 else 0.0,
        covered=intent.share(term.term for term in scored.terms) if scored is not None else 0.0,
        path=intent.share(words(code_text(path.replace("/", " ")))),
        names=intent.share(chain.from_iterable(words(code_text(name)) for name in names)),
        passage=max((window.share for window in windows), default=0.0),
        vector=cosine,
    )


def rounded(evidence: Evidence) -> Evidence:
    """Round each number to the 6 decimals that results show."""
    return Evidence(
        lexical=round(evidence.lexical, 6),
        covered=round(evidence.covered, 6),
        path=round(evidence.path, 6),
        names=round(evidence.names, 6),
        passage=round(evidence.passage, 6),
        vector=None if evidence.vector is None else round(evidence.vector, 6),
    )


def relevance(evidence: Evidence, profiles: FileProfiles) -> float:
    """Return a file's relevance, from 0 to 1: the weighted evidence, mapped by the profile's bands."""
    profile = profile_of(evidence, profiles)
    return min(1.0, max(0.0, profile.bands.similarity(summed(evidence, profile))))


def profile_of(evidence: Evidence, profiles: FileProfiles) -> RelevanceProfile:
    """Return the profile with vectors if the file has a vector and that profile was measured, or else the other."""
    return profiles.words if evidence.vector is None or profiles.vectors is None else profiles.vectors


def summed(evidence: Evidence, profile: RelevanceProfile) -> float:
    """Return ``Σ weight × evidence``; evidence without a weight counts 0."""
    return sum(weight * (getattr(evidence, name) or 0.0) for name, weight in profile.weights.items())


def windows_of(intent: Intent, content: str) -> list[Window]:
    """Cut a file into overlapping windows of 40 lines, each with its share of the intent."""
    lines = lines_of(content)
    held = _words_of_lines(intent, lines)
    starts = range(0, max(1, len(lines) - WINDOW + STRIDE), STRIDE) if lines else ()
    return [
        Window(
            (start + 1, min(start + WINDOW, len(lines))),
            intent.share(chain.from_iterable(held.get(line, ()) for line in range(start, start + WINDOW))),
        )
        for start in starts
    ]


def excerpt(windows: Sequence[Window]) -> list[Lines]:
    """Choose the lines of a file to show: its best window, and windows with at least half the best one's share.

    Returns:
        At most three parts in the order of the file, without overlap; [] for a file with none of the words.
    """
    found = sorted(windows, key=lambda window: (-window.share, window.lines))
    least = MIN_SHARE * found[0].share if found else 0.0
    chosen: list[Lines] = []
    for window in found:
        if window.share <= 0 or window.share < least or len(chosen) == MAX_PARTS:
            break
        if all(window.lines[0] > other[1] or window.lines[1] < other[0] for other in chosen):
            chosen.append(window.lines)
    return sorted(chosen)


def speaking(intent: Intent, names: Sequence[str]) -> list[str]:
    """List the names that have a word of the intent, those with the largest share first, ties by name."""
    may_hold = _may_hold(intent)
    shares = {
        name: intent.share(words(code_text(name)))
        for name in dict.fromkeys(names)
        if may_hold is not None and may_hold.search(name.casefold())
    }
    return sorted((name for name, share in shares.items() if share > 0), key=lambda name: (-shares[name], name))


def _words_of_lines(intent: Intent, lines: Sequence[str]) -> dict[int, list[str]]:
    """Read the words of the lines that may hold a word of the intent; tokenising the other lines would be wasted."""
    may_hold = _may_hold(intent)
    if may_hold is None:
        return {}
    return {number: words(code_text(line)) for number, line in enumerate(lines) if may_hold.search(line.casefold())}


def _may_hold(intent: Intent) -> re.Pattern[str] | None:
    # A stem differs from its word in the last letters only. Words are escaped because a request is not an expression.
    beginnings = {word[: max(1, len(word) - _CHANGED_BY_STEMMING)] for word in intent.weights}
    return re.compile("|".join(map(re.escape, sorted(beginnings)))) if beginnings else None
