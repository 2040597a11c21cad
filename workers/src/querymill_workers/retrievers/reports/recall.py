"""What the queries of a branch find: the passages nearest to their vectors, and those that have their words.

Without vectors of the queries, their words alone find. Passages that have no vector are named.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import chain

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.hits import BoardHit
from querymill_shared.values import value
from querymill_workers.jobs.faults import Refused
from querymill_workers.retrievers.reports.choosing import MAX_DOCUMENTS_ONE_BY_ONE
from querymill_workers.retrievers.reports.ports import SPACE, FoundPassage, MeasuredPassage, ReportPorts
from querymill_workers.retrievers.reports.rules.fusion import HitKey, decode_key, encode_key
from querymill_workers.retrievers.reports.rules.glossary import stated
from querymill_workers.retrievers.reports.rules.indexing import group_of
from querymill_workers.retrievers.reports.rules.pending import has_rare_word
from querymill_workers.retrievers.reports.rules.routing import Side

#: Passages that the words of a query find: shared among the sides of a comparison, but with a least number of each.
WORDS_DEPTH = 100
LEAST_OF_A_SIDE = 20

#: Entries of the text index that are read to find those without a vector. Most passages of a report that was just
#: ingested have none, and the last ones are found if their words are among the rarest of their report.
CANDIDATES = 1_000

QueryVectors = Mapping[str, npt.NDArray[np.float32]]
#: The hits by words of each query: the key of a page or chunk, its best passage, and the BM25 score.
ByWords = dict[str, tuple[tuple[str, int, float], ...]]


@value
class Recalled:
    """What queries found: hits with inner products, and hits by words. ``unsearched``: why words were not searched."""

    hits: dict[str, tuple[BoardHit, ...]] = field(default_factory=dict)
    words: ByWords = field(default_factory=dict)
    unsearched: str = ""


@value
class FoundByWords:
    """A passage that the question's words found, in the page or chunk of this key."""

    key: str
    passage: int
    score: float
    is_rare: bool


@value
class Unembedded:
    """What of the routed reports has no vector: how many passages wait, how many were refused, the best by words.

    ``unsearched`` says why they could not be searched by words.
    """

    pending: int = 0
    refused: int = 0
    found: tuple[FoundByWords, ...] = ()
    unsearched: str = ""


def recall(
    vectors: QueryVectors,
    documents_of: Callable[[str], tuple[str, ...]],
    sides: Sequence[Side],
    model: str,
    request: ReportSearch,
    ports: ReportPorts,
) -> Recalled:
    """Find the passages of each query in its documents. What only words find gets its inner product, too."""
    documents = {query: documents_of(query) for query in vectors}
    nearest = list(
        chain.from_iterable(
            nearest_passages(
                {query: vectors[query] for query in vectors if documents[query] == own}, own, model, request, ports
            )
            for own in dict.fromkeys(documents.values())
        )
    )
    if request.ranking == "agreement":
        return Recalled(keyed(nearest, pages=request.return_parent_pages))
    try:
        scored = score_by_words(documents, sides, request, ports)
    except Refused as error:
        return Recalled(keyed(nearest, pages=request.return_parent_pages), unsearched=str(error))
    measured = measure(scored, vectors, model, request, ports)
    met = [
        FoundPassage(query, chunk.document, measured[chunk].page, chunk.number, measured[chunk].inner_products[query])
        for query, found in scored.items()
        for chunk in found
        if chunk in measured and measured[chunk].inner_products
    ]
    return Recalled(keyed([*nearest, *met], pages=request.return_parent_pages), ranked_words(scored, measured, request))


def recall_by_words(
    queries: Sequence[str],
    documents_of: Callable[[str], tuple[str, ...]],
    sides: Sequence[Side],
    model: str,
    request: ReportSearch,
    ports: ReportPorts,
) -> Recalled:
    """Find the passages that have the words of each query, whatever the ranking: the queries have no vectors.

    Raises:
        Refused: The text index was built by another tokeniser version.
    """
    scored = score_by_words({query: documents_of(query) for query in queries}, sides, request, ports)
    return Recalled(words=ranked_words(scored, measure(scored, {}, model, request, ports), request))


def score_by_words(
    documents: Mapping[str, tuple[str, ...]], sides: Sequence[Side], request: ReportSearch, ports: ReportPorts
) -> dict[str, dict[HitKey, float]]:
    """Return the BM25 scores of passages for each query, in its documents."""
    return {query: scored_by_words(query, own, sides, request, ports) for query, own in documents.items()}


def measure(
    scored: Mapping[str, Mapping[HitKey, float]],
    vectors: QueryVectors,
    model: str,
    request: ReportSearch,
    ports: ReportPorts,
) -> Mapping[HitKey, MeasuredPassage]:
    """Return the pages of the passages that words found, and their inner products with the queries."""
    chunks = list(dict.fromkeys(chunk for found in scored.values() for chunk in found))
    return ports.reports.measured(request.collection, chunks, vectors, model=model) if chunks else {}


def ranked_words(
    scored: Mapping[str, Mapping[HitKey, float]], measured: Mapping[HitKey, MeasuredPassage], request: ReportSearch
) -> ByWords:
    """Return the hits by words of each query."""
    pages = {chunk: passage.page for chunk, passage in measured.items()}
    return {query: keyed_words(found, pages, request) for query, found in scored.items()}


def nearest_passages(
    vectors: QueryVectors, documents: tuple[str, ...], model: str, request: ReportSearch, ports: ReportPorts
) -> list[FoundPassage]:
    """Return the passages with the largest inner products, for each query."""
    return ports.reports.search(
        request.collection,
        vectors,
        model=model,
        documents=documents,
        depth=request.depth,
        per_document=len(documents) <= MAX_DOCUMENTS_ONE_BY_ONE,
        pages=request.return_parent_pages,
    )


def find_unembedded(request: ReportSearch, documents: Sequence[str], model: str, ports: ReportPorts) -> Unembedded:
    """Find the passages without a vector by the words of the question, best first.

    Where words rank beside vectors, they have found these passages already, and they are only counted.
    """
    collection = request.collection
    waiting = ports.reports.waiting(collection, documents, model=model)
    if not waiting.documents or request.ranking != "agreement":
        return Unembedded(waiting.pending, waiting.refused)
    try:
        groups = [group_of(document) for document in waiting.documents]
        hits = ports.words.search(collection, SPACE, request.query, limit=CANDIDATES, groups=groups)
    except Refused as error:
        return Unembedded(waiting.pending, waiting.refused, unsearched=str(error))
    keys = {hit.id: decode_key(hit.id) for hit in hits}
    pages = ports.reports.unembedded(collection, list(keys.values()), model=model)
    found: dict[HitKey, FoundByWords] = {}
    for hit in hits:
        chunk = keys[hit.id]
        if chunk in pages:
            key = HitKey(chunk.document, "page", pages[chunk]) if request.return_parent_pages else chunk
            passage = FoundByWords(key.encoded(), chunk.number, hit.score, has_rare_word(hit.scored))
            found.setdefault(key, passage)
    return Unembedded(waiting.pending, waiting.refused, tuple(found.values())[: request.top_n])


def scored_by_words(
    query: str, documents: Sequence[str], sides: Sequence[Side], request: ReportSearch, ports: ReportPorts
) -> dict[HitKey, float]:
    """Return the BM25 scores of the passages that have words of a query, some of each side of a comparison."""
    among = [own for side in sides if (own := sorted(set(side.documents).intersection(documents)))] or [list(documents)]
    limit = max(request.depth, LEAST_OF_A_SIDE, WORDS_DEPTH // len(among))
    text = searched_text(query, request, ports)
    found: dict[HitKey, float] = {}
    for own in among:
        groups = [group_of(document) for document in own]
        hits = ports.words.search(request.collection, SPACE, text, limit=limit, groups=groups)
        found |= {decode_key(hit.id): hit.score for hit in hits}
    return found


def searched_text(query: str, request: ReportSearch, ports: ReportPorts) -> str:
    """Return the words that a query is searched by: its own, and those by which reports state its terms."""
    return " ".join([query, *(stated(query, ports.glossary).values() if request.glossary else ())])


def keyed_words(
    scored: Mapping[HitKey, float], pages: Mapping[HitKey, int], request: ReportSearch
) -> tuple[tuple[str, int, float], ...]:
    """Return the hits by words, best first. A page keeps its best passage; a passage that is gone is left out."""
    best: dict[str, tuple[str, int, float]] = {}
    for chunk, score in sorted(scored.items(), key=lambda found: (-found[1], found[0].document, found[0].number)):
        if chunk in pages:
            key = HitKey(chunk.document, "page", pages[chunk]) if request.return_parent_pages else chunk
            best.setdefault(key.encoded(), (key.encoded(), chunk.number, score))
    return tuple(best.values())


def keyed(found: Sequence[FoundPassage], *, pages: bool) -> dict[str, tuple[BoardHit, ...]]:
    """Return the hits of each query. A page keeps its best passage."""
    best: defaultdict[str, dict[str, BoardHit]] = defaultdict(dict)
    for query, document, page, chunk, inner_product in found:
        key = encode_key(document, "page", page) if pages else encode_key(document, "chunk", chunk)
        hits = best[query]
        if key not in hits or inner_product > hits[key].score:
            hits[key] = BoardHit(key, inner_product, chunk)
    return {query: tuple(hits.values()) for query, hits in best.items()}
