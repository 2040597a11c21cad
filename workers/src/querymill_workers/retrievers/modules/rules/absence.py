"""Why a code document is not among the hits: the gates of a search, and what each says."""

from collections.abc import Iterable, Sequence
from typing import Final

from querymill_workers.retrievers.modules.rules.documents import DocumentId
from querymill_workers.retrievers.modules.rules.join import FusedHit

#: What a document passes on its way to the hits, in order.
GATES: Final = ("collection", "filter", "match", "channels", "top_k")


def place_of(wanted: DocumentId, ranking: Sequence[FusedHit]) -> int:
    """Return the place of a document in a ranking, from 1; 0 if it is not in it."""
    return next((place for place, hit in enumerate(ranking, start=1) if hit.document == wanted), 0)


def say_ranks(hit: FusedHit) -> str:
    """Say where each channel has a document: "3rd by modules" is written "modules 3, text 17"."""
    return ", ".join(f"{name} {found.rank}" for name, found in sorted(hit.channels.items()))


def say_unmatched(asked: Iterable[str], channels: Iterable[str]) -> str:
    """Say that no channel found a document, and which modules were asked for."""
    names = sorted(dict.fromkeys(asked))
    modules = f"it uses none of {', '.join(names)}" if names else "the request names no module"
    others = [name for name in channels if name != "modules"]
    return modules + (f", and {' and '.join(others)} did not find it" if others else "")


def say_cut(hit: FusedHit, *, needed: int, candidates: int) -> str:
    """Say that every channel took better documents. Equal scores share a rank, so ranks may be below the limit."""
    return f"number {needed} of its best channel (rank in {say_ranks(hit)}); each channel gives {candidates}"


def say_place(place: int, ranking: Sequence[FusedHit], *, top_k: int) -> str:
    """Say that better documents fill the list, with both scores."""
    last = ranking[min(top_k, len(ranking)) - 1]
    own = ranking[place - 1]
    return (
        f"place {place} of {len(ranking)} ({own.score:.4f}; the last one returned {last.score:.4f}), "
        f"{top_k} {'is' if top_k == 1 else 'are'} returned"
    )
