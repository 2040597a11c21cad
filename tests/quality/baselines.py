"""What the retrievers are measured beside, in the same run: BM25 by a library, the model's vectors, and both by RRF.

None of them uses a retriever: BM25 is bm25s over whole documents (k1 and b of the product, its words), the vectors are
the embedding model's, asked as a job of its own, and RRF is ``Σ 1 / (60 + rank)`` over the first 100 of either.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from querymill import Querymill
from querymill_evaluation.sets import SetQuery, read_judged, read_lines
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_workers.text.words import words as words_of
from tests.quality.oracle import Oracle
from tests.quality.stages import DevSet

BM25, VECTORS, RRF = "BM25", "vectors", "BM25 and vectors, RRF 1 : 1"
#: Characters of a window, which is what is embedded of a document, and the most windows of one document: on whole
#: sets, and in a sample.
WINDOW: Final = 1_200
WINDOWS, SAMPLED_WINDOWS = 6, 2
#: A set with more windows has no baseline by vectors: they would take hours.
MAX_WINDOWS: Final = 10_000
DEPTH, RRF_K = 100, 60
#: Texts of one job: on a busy machine a call with more would outlast its time limit.
_BATCH: Final = 4


@dataclass(frozen=True)
class Corpus:
    """The documents of a set by id, with the group that filters them, and the questions."""

    name: str
    texts: Mapping[str, str]
    groups: Mapping[str, str]
    queries: Sequence[SetQuery]
    qrels: Mapping[str, Mapping[str, int]]
    group: str

    def allowed(self, query: SetQuery) -> set[str] | None:
        """Return the documents that a question is asked of, or None for all."""
        if not self.group:
            return None
        wanted = str(query.metadata[self.group])
        return {document for document, group in self.groups.items() if group == wanted}


def read_corpus(folder: Path, chosen: DevSet) -> Corpus:
    """Read a set for the baselines."""
    qrels, queries = read_judged(folder)
    lines = [line for _, line in read_lines(folder, "corpus")]
    texts = {line["_id"]: f"{line.get('title') or ''} {line['text']}".strip() or "-" for line in lines}
    groups = {line["_id"]: str((line.get("metadata") or {}).get(chosen.group)) for line in lines}
    return Corpus(folder.name, texts, groups, queries, qrels, chosen.group)


def rankings(corpus: Corpus, mill: Querymill, cache: Path, *, most: int) -> Iterator[tuple[str, str, list[str]]]:
    """Yield baseline, question id, and the first documents, for every question; ``most`` windows of a document."""
    oracle = Oracle({document: words_of(text) for document, text in corpus.texts.items()})
    by_words = [_head(oracle.scores(words_of(query.text)), corpus, query) for query in corpus.queries]
    for query, ranking in zip(corpus.queries, by_words, strict=True):
        yield BM25, query.query_id, ranking
    if window_count(corpus, most) > MAX_WINDOWS:
        return
    owners, vectors = _document_vectors(corpus, mill, cache, most)
    asked = embedded(mill, corpus.name, [query.text for query in corpus.queries], "query", cache)
    for query, vector, ranking in zip(corpus.queries, asked, by_words, strict=True):
        nearest: dict[str, float] = {}
        for owner, cosine in zip(owners, vectors @ vector, strict=True):
            nearest[owner] = max(nearest.get(owner, -1.0), float(cosine))
        by_vectors = _head(nearest, corpus, query)
        yield VECTORS, query.query_id, by_vectors
        yield RRF, query.query_id, fused(ranking, by_vectors)


def window_count(corpus: Corpus, most: int) -> int:
    """Count the windows that the baseline by vectors would embed."""
    return sum(len(windows(text, most)) for text in corpus.texts.values())


def fused(*rankings_: Sequence[str]) -> list[str]:
    """Join rankings by reciprocal ranks, all of the same weight."""
    scores: dict[str, float] = {}
    for ranking in rankings_:
        for rank, document in enumerate(ranking, start=1):
            scores[document] = scores.get(document, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=lambda document: (-scores[document], document))


def _head(scores: Mapping[str, float], corpus: Corpus, query: SetQuery) -> list[str]:
    allowed = corpus.allowed(query)
    excluded = query.metadata.get("exclude_message_id")
    kept = [one for one in scores.items() if (allowed is None or one[0] in allowed) and one[0] != excluded]
    return [document for document, _ in sorted(kept, key=lambda one: (-one[1], one[0]))[:DEPTH]]


def windows(text: str, most: int = WINDOWS) -> list[str]:
    """Cut a text into windows; the best of them counts for its document."""
    cut = [text[at : at + WINDOW] for at in range(0, len(text), WINDOW)][:most]
    return [window for window in cut if window.strip()] or [text]


def _document_vectors(corpus: Corpus, mill: Querymill, cache: Path, most: int) -> tuple[list[str], Any]:
    owners, texts = [], []
    for document, text in corpus.texts.items():
        for window in windows(text, most):
            owners.append(document)
            texts.append(window)
    return owners, embedded(mill, corpus.name, texts, "passage", cache)


def embedded(mill: Querymill, collection: str, texts: Sequence[str], input_type: Any, cache: Path) -> Any:
    """Embed texts by jobs, and normalise the vectors; what was embedded before is read from the cache."""
    cache.mkdir(parents=True, exist_ok=True)
    parts = []
    for start in range(0, len(texts), _BATCH):
        batch = texts[start : start + _BATCH]
        key = hashlib.sha256("\0".join([input_type, *batch]).encode("utf-8", "replace")).hexdigest()[:24]
        path = cache / f"{key}.npy"
        if not path.exists():
            named = tuple(TextToEmbed(id=str(number), text=text) for number, text in enumerate(batch))
            request = EmbedTexts(collection=collection, texts=named, input_type=input_type)
            result = mill.submit(request).result(timeout=1_800)
            rows = np.array([result.embedding(text.id) for text in named], np.float32)
            np.save(path, rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9))
        parts.append(np.load(path))
    return np.concatenate(parts)
