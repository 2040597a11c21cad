"""Hits of every kind as the job page shows them: a title, where it was found, the passage, and a way to the source."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from querymill.gateway.console.rendering import address
from querymill.presenting.excerpts import Excerpt, excerpt, marks_of, question_words
from querymill.presenting.explain.score_trees import score_tree
from querymill.presenting.explain.scores import Balance, ScorePart, adds_up, equation
from querymill_shared.contracts.answer import AnswerResult
from querymill_shared.contracts.conversations.search import ConversationHit, ConversationResult
from querymill_shared.contracts.files.search import FileHit, FileResult
from querymill_shared.contracts.jobs import AnyResult
from querymill_shared.contracts.messages.search import MessageHit, MessageResult
from querymill_shared.contracts.modules.search import ModuleDocumentHit, ModuleResult
from querymill_shared.contracts.reports.search import ORIGINAL, ReportHit, ReportResult
from querymill_shared.contracts.rerank import RerankResult

#: Hits on one page, and characters of a passage before it is folded.
PAGE: Final = 20
SHOWN_CHARS: Final = 600


@dataclass(frozen=True, slots=True)
class HitView:
    """A hit: its rank from 1, its score, what it is and where it was found; ``source`` leads to the reader."""

    number: int
    score: float | None
    title: str
    text: str = ""
    facts: tuple[str, ...] = ()
    found_by: tuple[str, ...] = ()
    marks: tuple[tuple[int, int], ...] = ()
    source: str = ""
    question: str = ""
    tree: ScorePart | None = None

    @property
    def balance(self) -> Balance | None:
        """Whether the tree folds to the score, None if there is nothing to fold."""
        if self.tree is None or self.score is None or not self.tree.parts or self.tree.op == "given":
            return None
        try:
            return adds_up(self.tree, self.score)
        except ValueError:
            return Balance(is_even=False, difference=abs(self.score))

    @property
    def equation(self) -> str:
        """The first level of the tree in one line, "" if the score is given as it is."""
        return "" if self.balance is None or self.tree is None else equation(self.tree)

    @property
    def is_long(self) -> bool:
        """Whether the passage is folded."""
        return len(self.text) > SHOWN_CHARS

    @property
    def whole(self) -> Excerpt:
        """The passage with the places that the search marked, else those of the question's words."""
        return Excerpt(self.text, self.marks or marks_of(self.text, question_words(self.question)))

    @property
    def folded(self) -> Excerpt:
        """The part of the passage that is always shown."""
        return excerpt(self.text, self.question, most=SHOWN_CHARS) if self.is_long else self.whole


def hits_of(result: AnyResult, job_id: str, *, start: int = 0, limit: int = PAGE) -> list[HitView]:
    """Return the hits of a result from one on. A result of another kind has none."""
    view = next((make for kind, make in _VIEWS.items() if isinstance(result, kind)), None)
    if view is None:
        return []
    chosen: Sequence[Any] = result.results[start : start + limit]  # type: ignore[union-attr]  # those of `_VIEWS`
    collection, question = result.collection, result.query  # type: ignore[union-attr]  # those of `_VIEWS`
    views = [
        replace(
            view(hit, number, collection, job_id),
            question=question,
            tree=score_tree(result.kind, hit.model_dump(mode="json")),
        )
        for number, hit in enumerate(chosen, start=start + 1)
    ]
    return _by_step(views, result) if isinstance(result, ReportResult) else views


def _by_step(views: Sequence[HitView], result: ReportResult) -> list[HitView]:
    """Name the steps that found each hit instead of the texts that they searched."""
    step_of = {text: step for step, texts in result.expansion_texts.items() for text in texts}
    step_of[result.query] = ORIGINAL
    return [
        replace(view, found_by=tuple(dict.fromkeys(step_of.get(text, text) for text in view.found_by)))
        for view in views
    ]


def _report(hit: ReportHit, number: int, collection: str, job_id: str) -> HitView:
    about = [name for name in (hit.company, hit.period) if name]
    return HitView(
        number,
        hit.score,
        f"{hit.title}, page {hit.page}",
        hit.text,
        tuple(about),
        tuple(hit.explanation.get("queries", {})),
        source=address("collections", collection, "reports", hit.document, page=hit.page, job=job_id, hit=number),
    )


def _message(hit: MessageHit, number: int, collection: str, job_id: str) -> HitView:
    passage = hit.explanation.get("passage")
    marks = ((passage["start"], passage["end"]),) if isinstance(passage, dict) else ()
    who = " · ".join(name for name in (hit.message_role, hit.user_name) if name)
    facts = (who, f"{hit.created_at:%Y-%m-%d %H:%M}", f"{hit.band} {hit.similarity:.3g}", *_must_use(hit))
    return HitView(
        number,
        hit.score,
        hit.session_name or hit.session_id,
        hit.content,
        tuple(fact for fact in facts if fact),
        hit.found_by,
        marks,
        address("collections", collection, "messages", hit.session_id, message=hit.message_id, job=job_id, hit=number),
    )


def _must_use(hit: MessageHit) -> tuple[str, ...]:
    return ("must be used",) if hit.must_use else ()


def _conversation(hit: ConversationHit, number: int, collection: str, job_id: str) -> HitView:
    placed = () if hit.placed_for is None else (f"placed by {hit.placed_by}: {hit.placed_for}",)
    who = (hit.user_name,) if hit.user_name else ()
    at = address(
        "collections", collection, "conversations", hit.session_id, message=hit.message_id, job=job_id, hit=number
    )
    return HitView(
        number,
        hit.score,
        hit.name or hit.session_id,
        hit.snippet,
        (*who, f"last active {hit.last_active:%Y-%m-%d %H:%M}", *placed),
        (),
        hit.marks,
        at,
    )


def _module(hit: ModuleDocumentHit, number: int, collection: str, job_id: str) -> HitView:
    named = ", ".join(hit.modules[:8]) + (f" and {len(hit.modules) - 8} more" if len(hit.modules) > 8 else "")
    return HitView(
        number,
        hit.score,
        hit.file_path,
        hit.description or hit.code,
        (named,) if named else (),
        tuple(hit.channels),
        source=address("collections", collection, "modules", str(hit.document), job=job_id, hit=number),
    )


def _file(hit: FileHit, number: int, collection: str, job_id: str) -> HitView:
    lines = ", ".join(f"{part.first}–{part.last}" for part in hit.excerpt[:4])
    facts = (hit.band, f"round {hit.round}", f"lines {lines}" if lines else "", f"{hit.tokens:,} tokens")
    return HitView(
        number,
        hit.score,
        hit.path,
        hit.why,
        tuple(fact for fact in facts if fact),
        hit.found_by,
        source=address("collections", collection, "files", hit.path, job=job_id, hit=number),
    )


def _reranked(hit: Any, number: int, _: str, __: str) -> HitView:
    judged = "not judged" if hit.relevance is None else f"relevance {hit.relevance:g}"
    return HitView(number, hit.score, str(hit.id), facts=(judged,))


def _answered(hit: Any, number: int, _: str, __: str) -> HitView:
    facts = () if hit.page is None else (f"page {hit.page}",)
    return HitView(number, hit.score, hit.title or str(hit.id), facts=facts)


_VIEWS: Final[Mapping[type[Any], Callable[[Any, int, str, str], HitView]]] = {
    ReportResult: _report,
    MessageResult: _message,
    ConversationResult: _conversation,
    ModuleResult: _module,
    FileResult: _file,
    RerankResult: _reranked,
    AnswerResult: _answered,
}


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
