"""A file's relevance to the request, computed without a language model: evidence, weighted and calibrated."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from typing import Final

from querymill_shared.values import value
from querymill_workers.retrievers.files.rules.code import code_text
from querymill_workers.retrievers.files.rules.intent import Intent
from querymill_workers.text.bm25 import Scored, saturation
from querymill_workers.text.calibration import Calibration
from querymill_workers.text.words import words
from querymill_workers.vectors.rules.weights import VectorsWeight

#: Weights of the path's words and of the defined names beside the body's, whose weight is 1.
PATH, NAMES = 5, 2
#: Of BM25 over fields: paths and names must not be drowned by a long body.
K1: Final = 3.0
B: Final = 0.3
#: What words alone make of a file that is compared by vectors as well: medium at least, in the order of its words.
MEDIUM: Final = 0.5
WORDS_SHARE: Final = 0.02


@value
class Evidence:
    """The evidence that a file is relevant; each number but ``definitions`` is from 0 to 1.

    ``lexical`` is the file's BM25 score as a share of the best file's. ``covered``, ``path``, ``names`` and
    ``passage`` are the shares of the intent's words that occur in the file, in its path, in the names it defines and
    in its best definition. ``vector`` is the cosine of its nearest chunk, None without vectors. ``fields`` is its
    BM25 score with path and names weighted, ``definitions`` the sum over its best definitions, both as shares of the
    intent's weight.
    """

    lexical: float
    covered: float
    path: float
    names: float
    passage: float
    vector: float | None = None
    fields: float = 0.0
    definitions: float = 0.0


@value
class RelevanceProfile:
    """The weight of each kind of evidence, and the curve from weighted sums to relevance; measured on judged files."""

    weights: Mapping[str, float]
    bands: Calibration


@value
class FileProfiles:
    """The profile for files compared by words only, and the profile for files compared by vectors as well."""

    words: RelevanceProfile
    vectors: RelevanceProfile | None = None


def fields_score(intent: Intent, scored: Scored, *, path: Iterable[str], names: Iterable[str]) -> float:
    """Score a file by BM25 with fields, as a share of the intent's weight (k1 3, b 0.3).

    A word's count is that in path and content, plus 4 for each time the path has it and 2 for each defined name with
    it. Worked example: of a request's weight of 3, a word that weighs 2 occurs once in the path and once more in a
    file of average length: its count is 6, and the file scores 2 × 6 / (6 + 3) / 3 = 0.444.

    Args:
        intent: The words of the request with their weights.
        scored: The file's entry in the text index, which counts the path once.
        path: The words of the path, repetitions included.
        names: The words of the defined names, repetitions included.
    """
    in_path, in_names = Counter(path), Counter(names)
    counts: dict[str, float] = defaultdict(float)
    for term in scored.terms:
        counted, share = intent.counted(term.term)
        counts[counted] += share * (term.tf + (PATH - 1) * in_path[term.term] + NAMES * in_names[term.term])
    total = sum(
        intent.weights.get(word, 0.0) * saturation(count, scored.length, scored.statistics.average, k1=K1, b=B)
        for word, count in counts.items()
    )
    return total / intent.whole if intent.whole > 0 else 0.0


def words_of_path(path: str) -> list[str]:
    """Return the words of a path."""
    return words(code_text(path.replace("/", " ")))


def evidence_of(
    intent: Intent,
    scored: Scored | None,
    *,
    path: str,
    names: Sequence[str],
    passage: Iterable[str],
    definitions: float,
    cosine: float | None,
) -> Evidence:
    """Gather the evidence for a file.

    Args:
        intent: The words of the request.
        scored: The file's BM25 score for the request; None if it has none of the words.
        path: The file's path.
        names: The names it defines; those without a word of the intent may be left out (`speaking`).
        passage: The words of its best definition.
        definitions: The score of its best definitions together (`score_of_file`).
        cosine: The cosine of its nearest chunk; None without vectors.
    """
    in_path = words_of_path(path)
    in_names = [*chain.from_iterable(words(code_text(name)) for name in names)]
    return Evidence(
        lexical=scored.score / intent.best if scored is not None and intent.best > 0 else 0.0,
        covered=intent.share(term.term for term in scored.terms) if scored is not None else 0.0,
        path=intent.share(in_path),
        names=intent.share(in_names),
        passage=intent.share(passage),
        vector=cosine,
        fields=fields_score(intent, scored, path=in_path, names=in_names) if scored is not None else 0.0,
        definitions=definitions,
    )


def rounded(evidence: Evidence) -> Evidence:
    """Round each number to the 6 decimals that results show."""
    return replace(evidence, **{name: round(value, 6) for name, value in asdict(evidence).items() if value is not None})


def relevance(evidence: Evidence, profiles: FileProfiles, weight: VectorsWeight | None = None) -> float:
    """Return a file's relevance, from 0 to 1: the weighted evidence, mapped by the profile's bands.

    If it is known what the vectors of the collection are worth, or the request says so, its ``weight`` joins what the
    words and what the vectors make of the file (`joined`). A file that its words alone make medium or high is at least
    medium, however low its cosine (`least_by_words`).
    """
    by_evidence = (
        mapped(evidence, profile_of(evidence, profiles)) if weight is None else joined(evidence, profiles, weight)
    )
    return max(by_evidence, least_by_words(evidence, profiles))


def joined(evidence: Evidence, profiles: FileProfiles, weight: VectorsWeight) -> float:
    """Join what the words of a file make of it with what its nearest chunk does: ``(words + w × vectors) / (1 + w)``.

    The vectors make of it its calibrated similarity, or without a calibration what the profile with vectors does. A
    file without a vector has its words alone. Worked example: words 0.6, vectors 0.9 and w = 0.5 give
    (0.6 + 0.45) / 1.5 = 0.7.
    """
    words, cosine, worth = mapped(evidence, profiles.words), evidence.vector, weight.worth
    if cosine is None:
        return words
    if worth is not None and worth.points:
        vectors = min(1.0, max(0.0, Calibration(worth.points).similarity(cosine)))
    else:
        vectors = mapped(evidence, profile_of(evidence, profiles))
    return (words + weight.weight * vectors) / (1 + weight.weight)


def least_by_words(evidence: Evidence, profiles: FileProfiles) -> float:
    """Return the relevance that a file compared by vectors has by its words alone; 0 if they make it no medium one.

    The bands with vectors are those of one model. Another model's cosines may all be lower, and would hide every file.
    Worked example: a file of relevance 0.9 by its words gets 0.5 + 0.02 × (0.9 - 0.5) = 0.508.
    """
    by_words = mapped(evidence, profiles.words)
    if profile_of(evidence, profiles) is profiles.words or by_words < MEDIUM:
        return 0.0
    return MEDIUM + WORDS_SHARE * (by_words - MEDIUM)


def mapped(evidence: Evidence, profile: RelevanceProfile) -> float:
    """Map the weighted evidence by a profile's bands, to 0 to 1."""
    return min(1.0, max(0.0, profile.bands.similarity(summed(evidence, profile))))


def profile_of(evidence: Evidence, profiles: FileProfiles) -> RelevanceProfile:
    """Return the profile with vectors if the file has a vector and that profile was measured, or else the other."""
    return profiles.words if evidence.vector is None or profiles.vectors is None else profiles.vectors


def summed(evidence: Evidence, profile: RelevanceProfile) -> float:
    """Return ``Σ weight × evidence``; evidence without a weight counts 0."""
    return sum(weight * (getattr(evidence, name) or 0.0) for name, weight in profile.weights.items())
