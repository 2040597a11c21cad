"""Passages that have no vector yet: found by the words of the question, and named in the result."""

from collections.abc import Sequence
from typing import Final

from querymill_shared.contracts.codes import Code
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.results import Degradation
from querymill_shared.values import frozen
from querymill_workers.jobs.faults import Refused
from querymill_workers.retrievers.reports.ports import SPACE, ReportPorts
from querymill_workers.retrievers.reports.rules.fusion import HitKey, decode_key
from querymill_workers.retrievers.reports.rules.indexing import group_of
from querymill_workers.retrievers.reports.rules.pending import PendingHit, has_rare_word

#: Entries of the text index that are read to find those without a vector. Most passages of a report that was just
#: ingested have none, and the last ones are found if their words are among the rarest of their report.
CANDIDATES: Final = 1_000


@frozen
class FoundByWords:
    """A passage that the question's words found, in the page or chunk of this key."""

    key: str
    passage: int
    score: float
    is_rare: bool


@frozen
class Unembedded:
    """What of the routed reports has no vector: how many passages wait, how many were refused, the best by words.

    ``unsearched`` says why they could not be searched by words.
    """

    pending: int = 0
    set_aside: int = 0
    found: tuple[FoundByWords, ...] = ()
    unsearched: str = ""


def find_unembedded(request: ReportSearch, documents: Sequence[str], model: str, ports: ReportPorts) -> Unembedded:
    """Find the passages without a vector by the words of the question, best first.

    Where words rank beside vectors, they have found these passages already, and they are only counted.
    """
    collection = request.collection
    waiting = ports.reports.waiting(collection, documents, model=model)
    if not waiting.documents:
        return Unembedded()
    if request.ranking != "agreement":
        return Unembedded(waiting.pending, waiting.set_aside)
    try:
        groups = [group_of(document) for document in waiting.documents]
        hits = ports.words.search(collection, SPACE, request.query, limit=CANDIDATES, groups=groups)
    except Refused as error:
        return Unembedded(waiting.pending, waiting.set_aside, unsearched=str(error))
    keys = {hit.id: decode_key(hit.id) for hit in hits}
    pages = ports.reports.unembedded(collection, list(keys.values()), model=model)
    found: dict[HitKey, FoundByWords] = {}
    for hit in hits:
        chunk = keys[hit.id]
        if chunk in pages:
            key = HitKey(chunk.document, "page", pages[chunk]) if request.return_parent_pages else chunk
            passage = FoundByWords(key.encoded(), chunk.number, hit.score, has_rare_word(hit.scored))
            found.setdefault(key, passage)
    return Unembedded(waiting.pending, waiting.set_aside, tuple(found.values())[: request.top_n])


def pending_hits(unembedded: Unembedded) -> list[PendingHit]:
    """Return the hits without a vector, as the ranking takes them."""
    return [PendingHit(decode_key(hit.key), hit.passage, hit.score, hit.is_rare) for hit in unembedded.found]


def missing_vectors(unembedded: Unembedded) -> tuple[Degradation, ...]:
    """Name the passages that no vector could find."""
    return (
        *_degraded("embed", _counted(unembedded.pending, "pending"), "pending"),
        *_degraded(
            "embed", _counted(unembedded.set_aside, "set aside: the provider refused the text"), "provider_refused"
        ),
        *_degraded("words", unembedded.unsearched, "pending"),
    )


def _counted(passages: int, what: str) -> str:
    return f"{passages} {'passage' if passages == 1 else 'passages'} {what}" if passages else ""


def _degraded(stage: str, reason: str, code: Code) -> tuple[Degradation, ...]:
    return (Degradation(stage=stage, reason=reason, code=code),) if reason else ()
