"""The `answer` kind: a question and passages in, an answer that cites them out; and what such an answer is."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, FiniteFloat

from querymill_shared.contracts.fields import Contract, DeadlineSeconds, Name, PassageText, QueryText, Request
from querymill_shared.contracts.rerank import HitId
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

#: The step that writes an answer, and the one that judges it.
ANSWER, JUDGE = "answer", "judge"

#: The longest answer asked for, in tokens.
AnswerTokens = Annotated[int, Field(ge=16, le=4_000)]
ANSWER_TOKENS = 500
#: What the passages may have together, in tokens; None leaves it to the workers' settings.
PassageTokens = Annotated[int, Field(ge=100, le=100_000)] | None

#: From 0, not at all, to 1, wholly.
Degree = Annotated[FiniteFloat, Field(ge=0, le=1)]


class AnswerHit(Contract):
    """A hit to answer from; the best come first. ``score`` comes back as it was given."""

    id: HitId
    text: PassageText
    title: Name | None = None
    page: Annotated[int, Field(ge=0)] | None = None
    score: FiniteFloat | None = None


def _ids_occur_once(hits: tuple[AnswerHit, ...]) -> tuple[AnswerHit, ...]:
    seen: set[str] = set()
    for hit in hits:
        if str(hit.id) in seen:
            raise ValueError(f"every id must occur once, {str(hit.id)!r} occurs again")
        seen.add(str(hit.id))
    return hits


class AnswerQuestion(Request, Asks["AnswerResult"]):
    """Answer a question from hits that somebody has already, in the language of the question.

    ``hits`` is a ranking, best first: where ``passage_tokens`` do not suffice for all, long ones are cut and the
    last ones left out. ``answer_tokens`` is the longest answer asked for. ``judge`` has the answer judged.
    """

    queue: ClassVar[Queue] = Queue.EXPAND
    kind: Literal["answer"] = "answer"
    query: QueryText
    hits: Annotated[tuple[AnswerHit, ...], Field(min_length=1, max_length=200), AfterValidator(_ids_occur_once)]
    judge: bool = False
    answer_tokens: AnswerTokens = ANSWER_TOKENS
    passage_tokens: PassageTokens = None
    deadline: DeadlineSeconds = 60.0

    @property
    def steps(self) -> tuple[str, ...]:
        """The answer is written first; its judgement follows from it."""
        return (ANSWER,)


class Citation(Contract):
    """A passage that the answer names as [number]: the hit at that place of the ranking, from 1."""

    number: int
    id: HitId
    page: int | None = None
    title: str | None = None


class Judgement(Contract):
    """How good an answer is, as a chat model judges it.

    Attributes:
        grounded: How far the passages support it.
        relevant: How far it is an answer to the question.
        complete: How much of what the passages hold on the question it tells.
        unsupported: Its sentences that no passage supports, as they stand in it.
    """

    grounded: Degree
    relevant: Degree
    complete: Degree
    unsupported: tuple[str, ...] = ()


class WrittenAnswer(Contract):
    """An answer; every [number] in ``text`` is one of ``citations``.

    Attributes:
        text: What the chat model wrote, without citations of passages there are not.
        citations: What it cites, in the order of appearance. One that says the passages hold no answer has none.
        removed_citations: Numbers that named no passage and were taken out.
        language: The question's.
        passages: How many of the hits, the best first, the model was shown.
        judgement: None when none was asked for, or none could be had (``degraded`` says so).
    """

    text: str
    citations: tuple[Citation, ...]
    removed_citations: tuple[int, ...] = ()
    language: Literal["en", "zh"]
    passages: int
    judgement: Judgement | None = None


class AnsweredHit(Contract):
    """A hit as it was given, without its text."""

    id: HitId
    title: str | None
    page: int | None
    score: float | None


class AnswerResult(JobResult):
    """What became of an `AnswerQuestion`: the hits, and the answer if one could be had. ``total`` counts the hits."""

    kind: Literal["answer"] = "answer"
    query: str
    collection: str
    results: tuple[AnsweredHit, ...]
    answer: WrittenAnswer | None = None
