"""What the branches of a search left on the board: their notes, and the ranking of all their hits, read once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from querymill_shared.board import Picture
from querymill_shared.contracts.reports.search import ORIGINAL, ReportSearch
from querymill_shared.hits import BoardHit
from querymill_workers.retrievers.reports.notes import BranchNotes, read_words
from querymill_workers.retrievers.reports.recall import Unembedded
from querymill_workers.retrievers.reports.rules.fusion import FusedHit, QueryHit, decode_key, fuse
from querymill_workers.retrievers.reports.rules.joining import RankedHit, WordsHit, in_turn, joined, order_by_words
from querymill_workers.retrievers.reports.rules.pending import PendingHit
from querymill_workers.retrievers.reports.rules.routing import Side


@dataclass(frozen=True)
class Findings:
    """A search as its job stands. Each part is read from the picture when it is first asked for, and kept."""

    picture: Picture
    request: ReportSearch

    @cached_property
    def branches(self) -> Mapping[str, BranchNotes]:
        """The notes of each branch that has searched."""
        return {
            step.name: BranchNotes.of(step)
            for step in self.picture.steps
            if step.name in self.request.steps and step.state == "done"
        }

    @cached_property
    def unembedded(self) -> Unembedded:
        """What the branch of the original noted of passages without a vector."""
        original = self.branches.get(ORIGINAL)
        return Unembedded() if original is None else original.unembedded

    @cached_property
    def pending(self) -> Sequence[PendingHit]:
        """The hits without a vector, as the ranking takes them."""
        return [PendingHit(decode_key(hit.key), hit.passage, hit.score, hit.is_rare) for hit in self.unembedded.found]

    @cached_property
    def words(self) -> Sequence[WordsHit]:
        """What the words of all queries found."""
        return [hit for branch in self.branches.values() for hit in read_words(branch.words)]

    @cached_property
    def ranking(self) -> Sequence[RankedHit]:
        """The ranking of all hits. Those of a comparison are shared among its sides."""
        original = self.branches.get(ORIGINAL)
        sides = () if original is None else original.sides
        return rank(fuse_found(self.picture.hits, self.request), self.words, sides)

    @property
    def has_hits(self) -> bool:
        """Whether anything was found so far, by vectors or by words."""
        return bool(self.picture.hits) or bool(self.words)

    @property
    def has_sources(self) -> bool:
        """Whether an answer was asked for and there is a hit to write it from."""
        return self.request.answer and (bool(self.ranking) or bool(self.unembedded.found))

    @property
    def total(self) -> int:
        """How many hits there are before the cut to top_n. Near duplicates count each."""
        return len({hit.key for hit in self.ranking} | {hit.key for hit in self.pending})


def fuse_found(found_by: Mapping[str, Sequence[BoardHit]], request: ReportSearch) -> list[FusedHit]:
    """Fuse every (query, hit) pair."""
    hits = [
        QueryHit(query, decode_key(key), passage, score)
        for query, found in found_by.items()
        for key, score, passage in found
    ]
    return fuse(hits, top_n=len(hits), inner_factor=request.inner_factor)


def rank(fusion: Sequence[FusedHit], by_words: Sequence[WordsHit], sides: Sequence[Side]) -> list[RankedHit]:
    """Join the order of the fusion with that of the words, and share the ranking among the sides of a comparison."""
    if by_words:
        ranking = joined(fusion, order_by_words(by_words))
    else:  # not asked for, or nothing found
        ranking = [RankedHit(hit.key, hit.score, hit.passage, hit) for hit in fusion]
    return in_turn(ranking, sides)
