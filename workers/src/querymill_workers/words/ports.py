"""The port of text indexes: exact BM25, searchable at once."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import field
from typing import Protocol

from querymill_shared.values import value
from querymill_workers.text.bm25 import PLAIN, Scored, Tuning
from querymill_workers.words.asked import NOTHING, Beside

#: The name of a text index within a collection, such as "messages". Each retriever names its own.
Space = str


@value
class WordUnit:
    """An entry of a text index. ``group`` is the session or document that it belongs to, used as a filter.

    With ``counts``, the entry has these terms so often, instead of the words of its text. No term holds white space.
    """

    id: str
    text: str
    group: str = ""
    counts: Mapping[str, int] | None = field(default=None, repr=False)


@value
class WordHit:
    """An entry that has words of the query. ``scored`` holds what the score was computed from."""

    id: str
    score: float
    scored: Scored | None = field(default=None, compare=False, repr=False)


def stale_index(collection: str, space: Space) -> str:
    """Say why a stale index cannot be searched, and what to do about it."""
    return f"{collection}/{space}: the text index was built by another tokeniser version; run `querymill reindex`"


class Words(Protocol):
    """Exact BM25 search. Each collection has one text index per space, with statistics of its own.

    An index that another tokeniser version built is stale. It is not searched, and new entries go to a replacement,
    which becomes searchable once it is published.
    """

    def put(self, collection: str, space: Space, units: Sequence[WordUnit]) -> None:
        """Add or replace entries in one transaction. Every worker finds them from then on.

        If an id is repeated, its last entry counts.
        """
        ...

    def extend(self, collection: str, space: Space, units: Sequence[WordUnit]) -> Set[str]:
        """Add the words of texts, or their ``counts``, to entries, as if each were put with its text and this one.

        Returns the ids of these entries. Those that this tokeniser version does not have are left out.
        """
        ...

    def refill(self, collection: str, space: Space, units: Sequence[WordUnit]) -> None:
        """Add, in one transaction, the entries that this tokeniser version has not indexed yet."""
        ...

    def publish(self, collection: str, space: Space) -> None:
        """Make the index of this tokeniser version searchable, and drop those of other versions, in one transaction."""
        ...

    def drop(self, collection: str, space: Space, ids: Sequence[str]) -> None:
        """Drop entries in one transaction. Unknown ids are skipped."""
        ...

    def trim(self, collection: str, space: Space, documents: Mapping[str, int]) -> None:
        """Leave each document so many parts, and drop the others in one transaction; see ``parts.py``."""
        ...

    def drop_all(self, collection: str, space: Space) -> None:
        """Drop all entries of every tokeniser version."""
        ...

    def search(
        self,
        collection: str,
        space: Space,
        text: str,
        *,
        limit: int,
        groups: Sequence[str] | None = None,
        tuning: Tuning = PLAIN,
        also: Sequence[str] = (),
        beside: Beside = NOTHING,
    ) -> list[WordHit]:
        """Return the ``limit`` best entries, best first; ties are broken by id.

        Every hit has at least one word of the text or of those that are searched ``beside`` it, where each word counts
        what that says of its text; a word of the text itself counts 1. With ``groups``, only entries of these groups
        are returned, but the statistics are still those of the whole index. Terms that are ``also`` asked for score
        nothing; ``scored`` tells how often a hit has them.

        Raises:
            Refused: The index is stale, so its words do not match those of the query.
        """
        ...

    def near(self, collection: str, space: Space, terms: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Return, for each term that no entry has, the terms of the index that it may misspell.

        These begin with the same letter and differ in length by at most two letters. Terms that an entry has are
        left out.
        """
        ...

    def count(self, collection: str, space: Space) -> int:
        """Return how many entries this tokeniser version has indexed."""
        ...

    def stale(self, collection: str, space: Space) -> bool:
        """Return whether the index must be rebuilt, because another tokeniser version built it."""
        ...

    def previous_versions(self, collection: str, space: Space) -> Sequence[int]:
        """Return the other tokeniser versions that built an index of this name, in order."""
        ...

    def tidy(self) -> bool:
        """Do a bounded part of the upkeep that searches and writes leave behind. Return whether more is to be done."""
        ...
