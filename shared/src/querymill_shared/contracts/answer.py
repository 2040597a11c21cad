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
    """A hit to answer from.

    Attributes:
        text: what the hit says, which the model is shown and may cite
        title: title of the hit's document, which the model and the citations name; null: none
        page: page of the document that the text is on, which the model and the citations name; null: none
        score: score of your own, which is returned as it was given and changes nothing
    """

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

    A question that refers back to ``history`` is answered as it was meant.

    Attributes:
        query: the question
        hits: what to answer from, as a ranking, best first; no id may occur twice
        judge: judge the quality of the answer, too, by another call of a model
        answer_tokens: maximum length of the answer, in tokens
        passage_tokens: maximum length of all hits together, in tokens; if they are longer, long ones are cut and the
            last ones left out; null: as the workers' settings say
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
    """A hit that the answer cites as [number].

    Attributes:
        number: number in the answer, which is the place of the hit in the ranking, from 1
        page: page of the hit's document; null: the hit has none
        title: title of the hit's document; null: the hit has none
    """

    number: int
    id: HitId
    page: int | None = None
    title: str | None = None


class Judgement(Contract):
    """The quality of an answer, as a chat model judges it.

    Attributes:
        grounded: how far the passages support the answer, from 0 (not at all) to 1 (completely)
        relevant: how far it answers the question, from 0 to 1
        complete: how much of what the passages say about the question is in the answer, from 0 to 1
        unsupported: sentences of the answer that no passage supports, word for word
    """

    grounded: Degree
    relevant: Degree
    complete: Degree
    unsupported: tuple[str, ...] = ()


class WrittenAnswer(Contract):
    """An answer. Every [number] in ``text`` is one of ``citations``.

    Attributes:
        text: what the chat model wrote, without citations of passages that do not exist; or a quotation
        citations: cited hits, in order of appearance; empty if the answer says that the passages hold no answer
        removed_citations: numbers that named no passage and were removed
        language: language of the question
        passages: number of hits that the model was shown, best first
        judgement: quality of the answer; null: none was requested, or it failed (then `degraded` says why)
    """

    text: str
    citations: tuple[Citation, ...]
    removed_citations: tuple[int, ...] = ()
    language: Annotated[Literal["en", "zh"], Growing]
    passages: int
    judgement: Judgement | None = None
    quoted: Annotated[
        bool,
        Field(
            description="put together of sentences and table rows of the hits, not written by a chat model: none is"
            " configured, or it failed (then `degraded` says why)"
        ),
    ] = False


class AnsweredHit(Contract):
    """A hit of the request, without its text.

    Attributes:
        title: title of the hit's document, as it was given
        page: page of the document, as it was given
        score: score of the hit, as it was given
    """

    id: HitId
    title: str | None
    page: int | None
    score: float | None


class AnswerResult(JobResult):
    """The result of an `AnswerQuestion`. ``total`` counts the hits.

    Attributes:
        query: the question
        collection: collection that the hits are of; of several, joined by commas
        results: hits of the request, in its order
        answer: null: none was written (then `degraded` says why)
    """

    kind: Literal["answer"] = "answer"
    query: str
    collection: str
    results: tuple[AnsweredHit, ...]
    answer: WrittenAnswer | None = None
