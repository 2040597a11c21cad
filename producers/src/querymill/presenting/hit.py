"""A hit as every screen shows it: described once for each kind, in `presenting.kinds`."""

from dataclasses import dataclass, replace
from typing import Any

from querymill.kinds import part_of
from querymill.presenting.explain.score_trees import score_tree
from querymill.presenting.explain.scores import ScorePart
from querymill.presenting.places import Place
from querymill_shared.contracts.kinds import RESULTS
from querymill_shared.contracts.search import AnySearchResult, JointHit, SearchResult


@dataclass(frozen=True, slots=True)
class HitView:
    """A hit. ``hit`` is what its result holds, and ``title`` what it is.

    ``place`` is where it is stored, None if it can be read nowhere; ``part`` tells it from the other hits of that
    document. ``where`` is what a citation says beside the title. ``key`` is the id by which a search is asked why this
    is no hit. ``text`` is the passage, "" where a result names the place alone; ``summary`` takes its place on screens.
    ``marks`` are the (start, end) places that the search marked in what is shown. With ``is_cut`` the text is the part
    to read already. ``written_in`` is the file, and the line, that it was read from. ``joint`` is its place among the
    hits of all kinds, None if one kind was searched.
    """

    hit: Any
    title: str
    place: Place | None = None
    part: str = ""
    where: str = ""
    key: str = ""
    text: str = ""
    summary: str = ""
    facts: tuple[str, ...] = ()
    found_by: tuple[str, ...] = ()
    marks: tuple[tuple[int, int], ...] = ()
    is_cut: bool = False
    written_in: str = ""
    joint: JointHit | None = None

    @property
    def score(self) -> float | None:
        """The number that the hits are ordered by."""
        score: float | None = self.hit.score if self.joint is None else self.joint.score
        return score

    @property
    def cited(self) -> str:
        """The title with where in it the hit stands, for where nothing else is said of it."""
        return f"{self.title}, {self.where}" if self.where else self.title

    @property
    def shown(self) -> str:
        """What a person reads of it first."""
        return self.summary or self.text

    def tree(self, kind: str) -> ScorePart:
        """Return what its score, as the hit of a result of this kind, is made of."""
        return score_tree(kind, (self.hit if self.joint is None else self.joint).model_dump(mode="json"))


def views_of(result: AnySearchResult, *, start: int = 0, limit: int | None = None) -> list[HitView]:
    """Return the hits of a result, best first: ``limit`` of them, from one on."""
    last = None if limit is None else start + limit
    if isinstance(result, SearchResult):
        return [_view_among_all(hit, result.query) for hit in result.results[start:last]]
    view_of = part_of("presenting.kinds", result.kind, "view_of")
    return [view_of(hit, result) for hit in result.results[start:last]]


def _view_among_all(joint: JointHit, question: str) -> HitView:
    """Return the view of a hit as the result of its kind would show it."""
    own: Any = RESULTS[joint.kind].model_construct(
        kind=joint.kind, query=question, collection=joint.collection, results=(joint.hit,), expansion_texts={}
    )
    view: HitView = part_of("presenting.kinds", joint.kind, "view_of")(joint.hit, own)
    return replace(view, joint=joint, facts=(f"{joint.kind} in {joint.collection}", *view.facts))


def written_in(source: str | None, line: int | None) -> str:
    """Return a place as terminals and editors jump to it, ``notes.jsonl:12``, or "" if there is none."""
    return "" if source is None else source if line is None else f"{source}:{line}"
