"""The ranking of all that the branches left on the board, read once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from querymill_shared.board import Picture
from querymill_shared.branches import ORIGINAL
from querymill_shared.contracts.reports.search import WHY_NOT, ReportSearch
from querymill_shared.contracts.rerank import batch_names, judges_batch, most_judged
from querymill_shared.hits import BoardHit
from querymill_workers.retrievers.reports.rules.fusion import QueryHit, decode_key, fuse
from querymill_workers.retrievers.reports.rules.joining import (
    USUAL_WEIGHT,
    RankedHit,
    WordsHit,
    in_turn,
    joined,
    order_by_words,
)
from querymill_workers.retrievers.reports.rules.pending import PendingHit
from querymill_workers.retrievers.reports.rules.routing import Side
from querymill_workers.retrievers.reports.search.notes import BranchNotes, ByWords, Unembedded
from querymill_workers.services.judging import JudgedBatch, judged_batches
from querymill_workers.vectors.rules.weights import VectorsWeight


@dataclass(frozen=True)
class FoundByBranches:
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
    def ranking(self) -> Sequence[RankedHit]:
        """The ranking of all hits. Those of a comparison are shared among its sides."""
        original = self.branches.get(ORIGINAL)
        words = [branch.words for branch in self.branches.values()]
        sides = () if original is None else original.sides
        return rank(self.picture.hits, words, sides, self.request, self.weight)

    @property
    def weight(self) -> VectorsWeight:
        """What the vectors weigh, as the first branch that searched has found it."""
        return next((branch.weight for branch in self.branches.values()), VectorsWeight(USUAL_WEIGHT))

    @cached_property
    def has_words(self) -> bool:
        """Whether words found anything."""
        return any(found for branch in self.branches.values() for found in branch.words.values())

    @property
    def has_hits(self) -> bool:
        """Whether anything was found so far, by vectors or by words."""
        return bool(self.picture.hits) or self.has_words

    @property
    def has_sources(self) -> bool:
        """Whether an answer was asked for and there is a hit to write it from."""
        return self.request.answer and (bool(self.ranking) or bool(self.unembedded.found))

    @property
    def total(self) -> int:
        """How many hits there are before the cut to top_n. Near duplicates count each."""
        return len({hit.key for hit in self.ranking} | {hit.key for hit in self.pending})

    @property
    def limit(self) -> int:
        """How many of the best hits are read: those that are returned, or those that the judge reads."""
        return max(self.request.top_n, self.judged)

    @property
    def judged(self) -> int:
        """How many of the best hits the judge reads, 0 if it was not asked for."""
        return min(len(self.ranking), most_judged(self.request.deadline)) if self.request.rerank else 0

    @cached_property
    def batches(self) -> Mapping[str, JudgedBatch]:
        """The notes of each finished batch of the rerank."""
        return judged_batches(self.picture.steps)

    @property
    def missing_batches(self) -> Sequence[str]:
        """The steps that rerank and are not added yet: one for each batch of hits, none if it was not asked for."""
        return [] if any(judges_batch(step.name) for step in self.picture.steps) else batch_names(self.judged)

    @property
    def lacks_why_not(self) -> bool:
        """Whether the step is still to be added that says why a document is not among the hits."""
        is_asked = self.request.why_not is not None and bool(self.branches)
        return is_asked and all(step.name != WHY_NOT for step in self.picture.steps)


def rank(
    found: Mapping[str, Sequence[BoardHit]],
    words: Iterable[ByWords],
    sides: Sequence[Side],
    request: ReportSearch,
    weight: VectorsWeight,
) -> list[RankedHit]:
    """Fuse the hits of all queries, join the order of their words, and share the ranking among compared sides."""
    hits = [
        QueryHit(query, decode_key(key), passage, score) for query, own in found.items() for key, score, passage in own
    ]
    fusion = fuse(hits, top_n=len(hits), inner_factor=request.inner_factor)
    by_words = [
        WordsHit(query, decode_key(key), passage, bm25)
        for branch in words
        for query, own in branch.items()
        for key, passage, bm25 in own
    ]
    if by_words:
        ranking = joined(fusion, order_by_words(by_words), weight)
    else:  # not asked for, or nothing found
        ranking = [RankedHit(hit.key, hit.score, hit.passage, hit) for hit in fusion]
    return in_turn(ranking, sides)
