"""What the queries of a branch find: the passages nearest to their vectors, and those that have their words.

Without vectors of the queries, their words alone find. Passages that have no vector are named.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from querymill_shared.board import Claim
from querymill_shared.branches import ORIGINAL
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.hits import BoardHit
from querymill_shared.values import value
from querymill_workers.expansion.writing import SEARCH_MARGIN_S
from querymill_workers.inference.ports import Embeddings
from querymill_workers.jobs.deadline import EMBEDDING_PATIENCE_S
from querymill_workers.jobs.faults import Conflict, Refused, Unavailable
from querymill_workers.jobs.in_chat import context_of
from querymill_workers.jobs.stages import Laps
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.retrievers.reports.ports import SPACE, FoundPassage, MeasuredPassage, ReportPorts
from querymill_workers.retrievers.reports.rules.fusion import HitKey, decode_key, encode_key
from querymill_workers.retrievers.reports.rules.glossary import stated
from querymill_workers.retrievers.reports.rules.indexing import group_of
from querymill_workers.retrievers.reports.rules.pending import has_rare_word
from querymill_workers.retrievers.reports.rules.routing import Route, Side
from querymill_workers.retrievers.reports.search.notes import ByWords, FoundByWords, Unembedded
from querymill_workers.retrievers.reports.search.understand import MAX_DOCUMENTS_ONE_BY_ONE
from querymill_workers.text.queries import normalise
from querymill_workers.vectors.question import embed_by
from querymill_workers.words.asked import NOTHING, Beside

#: Passages that the words of a query find: shared among the sides of a comparison, but with a least number of each.
WORDS_DEPTH: Final = 100
LEAST_OF_A_SIDE: Final = 20
#: Entries of the text index that are read to find those without a vector. Most passages of a report that was just
#: ingested have none, and the last ones are found if their words are among the rarest of their report.
CANDIDATES: Final = 1_000

QueryVectors = Mapping[str, npt.NDArray[np.float32]]


@value
class EmbeddedQueries:
    """The vectors of queries, or why they are ``lacking``."""

    vectors: QueryVectors = field(default_factory=dict)
    usage: ProviderUsage = field(default_factory=ProviderUsage)
    lacking: Unavailable | Refused | None = None


@value
class Recalled:
    """What queries found: hits with inner products, and hits by words. ``unsearched``: why words were not searched."""

    hits: Mapping[str, tuple[BoardHit, ...]] = field(default_factory=dict)
    words: ByWords = field(default_factory=dict)
    unsearched: str = ""


@value
class BranchRecall:
    """What a branch found, and the passages without a vector. ``lacking``: why its queries have no vectors."""

    recalled: Recalled = field(default_factory=Recalled)
    unembedded: Unembedded = field(default_factory=Unembedded)
    usage: ProviderUsage = field(default_factory=ProviderUsage)
    lacking: Unavailable | Refused | None = None


def recall_branch(
    documents: Mapping[str, tuple[str, ...]],
    route: Route,
    model: Embeddings,
    claim: Claim,
    request: ReportSearch,
    ports: ReportPorts,
    laps: Laps,
) -> BranchRecall:
    """Embed the queries of a branch, and find the passages of each in its documents.

    Without vectors in time, words find them.

    Raises:
        Conflict: The collection has switched to another model since.
        Unavailable, Refused: There are neither vectors nor a text index that could be searched.
    """
    if not documents or not route.documents:
        return BranchRecall()
    # Words can answer, so the vectors are waited for no longer than the patience.
    embedded = embed_queries(
        list(documents), model, claim, request, ports, margin_s=SEARCH_MARGIN_S, patience_s=EMBEDDING_PATIENCE_S
    )
    laps.lap("embed")
    with ports.reports.reading():
        if ports.vectors["reports"].active_model(request.collection) not in (None, model.model):
            raise Conflict("the collection is searched by another model since")
        try:
            recalled = recall(documents, embedded.vectors, route.sides, model.model, request, ports)
        except Refused:
            if embedded.lacking is None:
                raise
            raise embedded.lacking from None
        unembedded = Unembedded()
        if claim.step == ORIGINAL:
            unembedded = find_unembedded(request, route.documents, model.model, ports)
    laps.lap("search")
    if recalled.unsearched and not unembedded.unsearched:
        unembedded = replace(unembedded, unsearched=recalled.unsearched)
    return BranchRecall(recalled, unembedded, embedded.usage, embedded.lacking)


def embed_queries(
    queries: Sequence[str],
    model: Embeddings,
    claim: Claim,
    request: ReportSearch,
    ports: ReportPorts,
    *,
    margin_s: float,
    patience_s: float | None,
) -> EmbeddedQueries:
    """Embed the queries, or say why there are no vectors in time."""
    try:
        texts = [meaning_of(query, request) for query in queries]
        made = embed_by(model, claim, request, texts, ports, margin_s=margin_s, patience_s=patience_s)
    except (Unavailable, Refused) as error:
        return EmbeddedQueries(lacking=error)
    return EmbeddedQueries(dict(zip(queries, made.vectors, strict=True)), made.usage)


def meaning_of(query: str, request: ReportSearch) -> str:
    """Return what is embedded for a query: the question of the request with the turns that it leans on."""
    return context_of(request).meaning if query == normalise(request.query) else query


def beside_of(query: str, request: ReportSearch, ports: ReportPorts) -> Beside:
    """Return what is searched beside a query by words: what the earlier turns add to the question of the request."""
    if query != normalise(request.query):
        return NOTHING
    added = context_of(request).added
    return {in_reports(each.text, request, ports): each.weight for each in added}


def in_reports(text: str, request: ReportSearch, ports: ReportPorts) -> str:
    """Return a text with the words by which reports state its terms."""
    return " ".join([text, *(stated(text, ports.glossary).values() if request.glossary else ())])


def recall(
    documents: Mapping[str, tuple[str, ...]],
    vectors: QueryVectors,
    sides: Sequence[Side],
    model: str,
    request: ReportSearch,
    ports: ReportPorts,
) -> Recalled:
    """Find the passages of each query in its documents. What only words find gets its inner product, too.

    Queries without vectors find by their words alone, whatever the ranking.

    Raises:
        Refused: There are no vectors, and the text index was built by another tokeniser version.
    """
    nearest = nearest_passages(documents, vectors, model, request, ports)
    if vectors and request.ranking == "agreement":
        return Recalled(keyed(nearest, pages=request.return_parent_pages))
    try:
        scored = {query: score_by_words(query, own, sides, request, ports) for query, own in documents.items()}
    except Refused as error:
        if not vectors:
            raise
        return Recalled(keyed(nearest, pages=request.return_parent_pages), unsearched=str(error))
    chunks = list(dict.fromkeys(chunk for found in scored.values() for chunk in found))
    measured = ports.reports.measured(request.collection, chunks, vectors, model=model) if chunks else {}
    met = [
        FoundPassage(query, chunk.document, measured[chunk].page, chunk.number, measured[chunk].inner_products[query])
        for query, found in scored.items()
        for chunk in found
        if chunk in measured and measured[chunk].inner_products
    ]
    words = {query: keyed_words(found, measured, pages=request.return_parent_pages) for query, found in scored.items()}
    return Recalled(keyed([*nearest, *met], pages=request.return_parent_pages), words)


def nearest_passages(
    documents: Mapping[str, tuple[str, ...]],
    vectors: QueryVectors,
    model: str,
    request: ReportSearch,
    ports: ReportPorts,
) -> list[FoundPassage]:
    """Return the passages with the largest inner products, for each query that has a vector."""
    groups = dict.fromkeys(documents[query] for query in vectors)
    return list(
        chain.from_iterable(
            ports.reports.search(
                request.collection,
                {query: vector for query, vector in vectors.items() if documents[query] == own},
                model=model,
                documents=own,
                depth=request.depth,
                per_document=len(own) <= MAX_DOCUMENTS_ONE_BY_ONE,
                pages=request.return_parent_pages,
            )
            for own in groups
        )
    )


def score_by_words(
    query: str, documents: Sequence[str], sides: Sequence[Side], request: ReportSearch, ports: ReportPorts
) -> dict[HitKey, float]:
    """Return the BM25 scores of the passages that have words of a query, some of each side of a comparison."""
    among = [own for side in sides if (own := sorted(set(side.documents).intersection(documents)))] or [list(documents)]
    limit = max(request.depth, LEAST_OF_A_SIDE, WORDS_DEPTH // len(among))
    text, beside = in_reports(query, request, ports), beside_of(query, request, ports)
    found: dict[HitKey, float] = {}
    for own in among:
        groups = [group_of(document) for document in own]
        hits = ports.words.search(request.collection, SPACE, text, limit=limit, groups=groups, beside=beside)
        found |= {decode_key(hit.id): hit.score for hit in hits}
    return found


def keyed_words(
    scored: Mapping[HitKey, float], measured: Mapping[HitKey, MeasuredPassage], *, pages: bool
) -> tuple[tuple[str, int, float], ...]:
    """Return the hits by words, best first. A page keeps its best passage; a passage that is gone is left out."""
    best: dict[str, tuple[str, int, float]] = {}
    for chunk, score in sorted(scored.items(), key=lambda found: (-found[1], found[0].document, found[0].number)):
        if chunk in measured:
            key = HitKey(chunk.document, "page", measured[chunk].page) if pages else chunk
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
        beside = context_of(request).beside
        hits = ports.words.search(collection, SPACE, request.query, limit=CANDIDATES, groups=groups, beside=beside)
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
