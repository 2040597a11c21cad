"""Hits of every kind as the job page shows them: a title, where it was found, the passage, and a way to the source."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from pydantic import ValidationError

from querymill.gateway.console.rendering import address
from querymill.presenting.excerpts import Excerpt, excerpt, marks_of, question_words
from querymill.presenting.explain.scores import Balance, ScorePart, adds_up, equation
from querymill.presenting.hit import HitView, views_of
from querymill_shared.contracts.answer import AnswerResult
from querymill_shared.contracts.jobs import AnyResult, decode_result
from querymill_shared.contracts.rerank import RerankResult
from querymill_shared.contracts.search import AnySearchResult

#: Hits on one page, and characters of a passage before it is folded.
PAGE: Final = 20
SHOWN_CHARS: Final = 600


@dataclass(frozen=True, slots=True)
class NumberedHit:
    """A hit with its rank, from 1, and the tree of its score; ``source`` leads to the reader."""

    number: int
    view: HitView
    tree: ScorePart
    source: str = ""
    question: str = ""

    @property
    def balance(self) -> Balance | None:
        """Whether the tree folds to the score, None if there is nothing to fold."""
        score = self.view.score
        if score is None or not self.tree.parts or self.tree.op == "given":
            return None
        try:
            return adds_up(self.tree, score)
        except ValueError:
            return Balance(is_even=False, difference=abs(score))

    @property
    def equation(self) -> str:
        """The first level of the tree in one line, "" if the score is given as it is."""
        return "" if self.balance is None else equation(self.tree)

    @property
    def is_long(self) -> bool:
        """Whether the passage is folded."""
        return len(self.view.shown) > SHOWN_CHARS

    @property
    def whole(self) -> Excerpt:
        """The passage with the places that the search marked, else those of the question's words."""
        text = self.view.shown
        return Excerpt(text, self.view.marks or marks_of(text, question_words(self.question)))

    @property
    def folded(self) -> Excerpt:
        """The part of the passage that is always shown."""
        return excerpt(self.view.shown, self.question, max_chars=SHOWN_CHARS) if self.is_long else self.whole


def hits_of(result: AnyResult, job_id: str, *, start: int = 0, limit: int = PAGE) -> list[NumberedHit]:
    """Return the hits of a result from one on. A result of another kind has none."""
    views: list[HitView] = []
    if isinstance(result, get_args(AnySearchResult)):
        views = views_of(result, start=start, limit=limit)
    elif isinstance(result, RerankResult):
        views = [HitView(hit, str(hit.id), facts=(_judged(hit.relevance),)) for hit in result.results[start:][:limit]]
    elif isinstance(result, AnswerResult):
        views = [_answered(hit) for hit in result.results[start:][:limit]]
    return [
        NumberedHit(number, view, view.tree(result.kind), _source(view, job_id, number), getattr(result, "query", ""))
        for number, view in enumerate(views, start=start + 1)
    ]


def _source(view: HitView, job_id: str, number: int) -> str:
    """Return the address of the reader that shows the hit where it stands, "" if it is stored nowhere."""
    if view.place is None:
        return ""
    at = {"page": getattr(view.hit, "page", None), "message": getattr(view.hit, "message_id", None)}
    place = view.place
    return address("collections", place.collection, place.kind, place.document, **at, job=job_id, hit=number)


def _judged(relevance: float | None) -> str:
    return "not judged" if relevance is None else f"relevance {relevance:g}"


def _answered(hit: Any) -> HitView:
    return HitView(hit, hit.title or str(hit.id), facts=() if hit.page is None else (f"page {hit.page}",))


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """A piece of an answer: text, or a citation with the number of a hit."""

    text: str
    hit: int | None = None


_CITATION: Final = re.compile(r"\[(?P<number>[0-9]{1,9})\]")


def answer_pieces(text: str, numbers: Sequence[int]) -> list[AnswerPiece]:
    """Cut an answer at its citations. What looks like one but is none stays text.

    >>> [piece.hit for piece in answer_pieces("It rose [2], not [9].", [2])]
    [None, 2, None]
    """
    pieces, at, known = [], 0, set(numbers)
    for found in _CITATION.finditer(text):
        if (number := int(found["number"])) in known:
            pieces += [AnswerPiece(text[at : found.start()])] if found.start() > at else []
            pieces.append(AnswerPiece(found[0], number))
            at = found.end()
    text = text[at:]
    return [*pieces, AnswerPiece(text)] if text else pieces


def answer_so_far(parts: Sequence[Mapping[str, Any]]) -> str:
    """Join the parts of an answer that is being written: each replaces everything from its offset on."""
    text = ""
    for part in parts:
        text = text[: part["offset"]] + part["text"]
    return text


def read_result(text: str | None) -> AnyResult | None:
    """Read a result. One of another release may not be readable; it can be downloaded all the same."""
    try:
        return None if text is None else decode_result(text)
    except ValidationError:
        return None
