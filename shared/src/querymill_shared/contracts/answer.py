"""The `answer` kind: write an answer to a question from given hits; and the answer itself, which `reports` shares."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, FiniteFloat

from querymill_shared.contracts.fields import (
    CollectionNames,
    Contract,
    DeadlineSeconds,
    Growing,
    Name,
    PassageText,
    QueryText,
    Request,
)
from querymill_shared.contracts.history import InChat
from querymill_shared.contracts.rerank import HitId
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

#: The step that writes an answer, and the one that judges it.
ANSWER, JUDGE = "answer", "judge"
#: In ``degraded``: what a result lacks whose answer a chat model should have written. The answer is a quotation.
WRITE = "write"

#: In the usage of a result: the tokens of the answer, of all ``tokens``. Left out where the provider does not say.
COMPLETION_TOKENS = "completion_tokens"

#: Maximum length of an answer, in tokens.
AnswerTokens = Annotated[int, Field(ge=16, le=4_000)]
ANSWER_TOKENS = 500
#: Maximum length of all passages together, in tokens. None leaves it to the workers' settings.
PassageTokens = Annotated[int, Field(ge=100, le=100_000)] | None

#: From 0 (not at all) to 1 (completely).
Degree = Annotated[FiniteFloat, Field(ge=0, le=1)]


class AnswerHit(Contract):
    """A hit to answer from. ``score`` is returned as it was given."""

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


class AnswerQuestion(Request, InChat, Asks["AnswerResult"]):
    """Answer a question from given hits, in the language of the question.

    ``hits`` is a ranking, best first. If the hits have more than ``passage_tokens`` tokens, long ones are cut and the
    last ones left out. ``answer_tokens`` is the maximum length of the answer. With ``judge`` the answer is judged. A
    question that refers back to ``history`` is answered as it was meant.
    """

    queue: ClassVar[Queue] = Queue.EXPAND
    kind: Literal["answer"] = "answer"
    collection: Annotated[
        CollectionNames, Field(description="name of the collection that the hits are of; of several, joined by commas")
    ]
    query: QueryText
    hits: Annotated[tuple[AnswerHit, ...], Field(min_length=1, max_length=200), AfterValidator(_ids_occur_once)]
    judge: bool = False
    answer_tokens: AnswerTokens = ANSWER_TOKENS
    passage_tokens: PassageTokens = None
    deadline: DeadlineSeconds = 60.0

    @property
    def steps(self) -> tuple[str, ...]:
        """The step that writes the answer; the step that judges it is added later."""
        return (ANSWER,)


class Citation(Contract):
    """A hit that the answer cites as [number], which is its place in the ranking, from 1."""

    number: int
    id: HitId
    page: int | None = None
    title: str | None = None


class Judgement(Contract):
    """The quality of an answer, as a chat model judges it.

    Attributes:
        grounded: How far the passages support the answer.
        relevant: How far it answers the question.
        complete: How much of what the passages say about the question is in the answer.
        unsupported: The sentences of the answer that no passage supports, word for word.
    """

    grounded: Degree
    relevant: Degree
    complete: Degree
    unsupported: tuple[str, ...] = ()


class WrittenAnswer(Contract):
    """An answer. Every [number] in ``text`` is one of ``citations``.

    Attributes:
        text: What the chat model wrote, without citations of passages that do not exist; or a quotation.
        citations: The cited hits, in order of appearance. Empty if the answer says that the passages hold none.
        removed_citations: Numbers that named no passage and were removed.
        language: The language of the question.
        passages: Number of hits that the model was shown, best first.
        judgement: None if none was requested, or if it failed (then ``degraded`` says why).
        quoted: Whether the text is put together of sentences and table rows of the hits, because no chat model is
            configured or it failed (then ``degraded`` says why).
    """

    text: str
    citations: tuple[Citation, ...]
    removed_citations: tuple[int, ...] = ()
    language: Annotated[Literal["en", "zh"], Growing]
    passages: int
    judgement: Judgement | None = None
    quoted: Annotated[
        bool, Field(description="put together of sentences and table rows of the hits, not written by a chat model")
    ] = False


class AnsweredHit(Contract):
    """A hit of the request, without its text."""

    id: HitId
    title: str | None
    page: int | None
    score: float | None


class AnswerResult(JobResult):
    """The result of an `AnswerQuestion`: the hits, and the answer if it was written. ``total`` counts the hits."""

    kind: Literal["answer"] = "answer"
    query: str
    collection: str
    results: tuple[AnsweredHit, ...]
    answer: WrittenAnswer | None = None
