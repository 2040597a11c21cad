"""The demo's step on the models alone: the hits of a search reranked, texts embedded."""

from querymill.cli import screen
from querymill.cli.sample import COLLECTION
from querymill.cli.terminal import Console
from querymill.client.mill import Querymill
from querymill_shared.contracts.embed import EmbedResult, EmbedTexts, TextToEmbed
from querymill_shared.contracts.reports.search import ReportResult
from querymill_shared.contracts.rerank import Rerank, RerankCandidate, RerankResult

#: Hits that are judged: a chat model on a few CPU cores reads slowly.
JUDGED = 3
TEXTS = ("The harbour froze in January.", "Im Januar fror der Hafen zu.", "一月港口结冰了。")


def rerank_and_embed(mill: Querymill, found: ReportResult, console: Console) -> tuple[RerankResult, EmbedResult]:
    """Rerank the best hits of a search, and embed three texts; print both, return both."""
    hits = tuple(
        RerankCandidate(id=f"{hit.title}, page {hit.page}", text=hit.text, score=hit.similarity)
        for hit in found.results[:JUDGED]
    )
    job = mill.submit(Rerank(collection=COLLECTION, query=found.query, hits=hits, deadline=30))
    screen.follow(console, f"{found.query} (its best {len(hits)} hits, judged)", job.events(timeout=40))
    reranked = job.result(timeout=5)
    screen.show_reranked(console, reranked)
    if reranked.degraded:
        console.print(
            "   The chat model from the wheel is too small to judge; a larger one, or a rerank endpoint, is a setting."
        )
    texts = tuple(TextToEmbed(id=str(number), text=text) for number, text in enumerate(TEXTS))
    embedded = mill.submit(EmbedTexts(collection=COLLECTION, texts=texts)).result(timeout=30)
    console.print(f"   {embedded.total} texts embedded by {embedded.model}: {embedded.dimensions} numbers each")
    return reranked, embedded
