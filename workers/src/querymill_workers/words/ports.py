"""What is asked of the words: exact BM25, fresh at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from querymill_workers.text.bm25 import Scored

#: A kind of unit, such as messages: its words are counted by themselves. Each retriever names its own.
Space = str


@dataclass(frozen=True, slots=True)
class WordUnit:
    """What is found by its words. ``group`` is a session or a document, to filter by."""

    id: str
    text: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class WordHit:
    """A unit that has words of the query; ``scored`` is what the score came from."""

    id: str
    score: float
    scored: Scored | None = field(default=None, compare=False, repr=False)


class Words(Protocol):
    """Exact BM25 over the units of every (collection, space).

    A space that another version of the tokeniser made is stale: it is not searched, and what is put goes to a new one
    beside it, which is searched once it is whole.
    """

    def put(self, collection: str, space: Space, units: Sequence[WordUnit]) -> None:
        """Add units or replace them, all at once, found by every worker from then on.

        Of two units with one id the later counts.
        """
        ...

    def refill(self, collection: str, space: Space, units: Sequence[WordUnit]) -> None:
        """Add those units, all at once, that this version of the tokeniser has not seen."""
        ...

    def publish(self, collection: str, space: Space) -> None:
        """Have what this version of the tokeniser made searched from now on, at once, and drop what others made."""
        ...

    def drop(self, collection: str, space: Space, ids: Sequence[str]) -> None:
        """Take units away, all at once; ids that are not there are skipped."""
        ...

    def clear(self, collection: str, space: Space) -> None:
        """Take everything away, of every version of the tokeniser."""
        ...

    def search(
        self, collection: str, space: Space, text: str, *, limit: int, groups: Sequence[str] | None = None
    ) -> list[WordHit]:
        """Find the ``limit`` best units, best first, ties on the id; statistics are those of the whole space.

        Only units with at least one word of the text; with ``groups`` only units of these.

        Raises:
            Refused: The space is stale; its words are not those of the query.
        """
        ...

    def near(self, collection: str, space: Space, terms: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """List, for each of the terms that no unit has, terms it may be a misspelling of.

        Those of the space that begin with the same letter and are at most two letters shorter or longer. A term
        that some unit has is left out.
        """
        ...

    def stale(self, collection: str, space: Space) -> bool:
        """Tell whether another version of the tokeniser made the space, so that it must be made anew."""
        ...
