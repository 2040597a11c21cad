"""Answer a question from a collection: search it, read what the hits do not hold, have the answer written.

    search -> texts of the hits -> answer

Search and answer are two jobs. Passages are numbered in the order of the hits, and the answer cites these numbers.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final, cast

from querymill.agents.access import MARGIN_S, Access, Running, cancel, run
from querymill.agents.found import FoundHit, found_in, lacks_text, with_text
from querymill.agents.searches import READ_FOR_TEXT, AskedKind, search_of
from querymill.presenting.explain.degradations import CHAT_MODEL_SETTINGS
from querymill_shared.contracts.answer import ANSWER_TOKENS, AnswerHit, AnswerQuestion, AnswerResult, WrittenAnswer
from querymill_shared.contracts.documents import ShowDocument
from querymill_shared.contracts.errors import JobEnded
from querymill_shared.contracts.events import AnswerPart
from querymill_shared.contracts.fields import JOINED
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.history import Turn
from querymill_shared.contracts.results import Asks, Degradation, JobResult
from querymill_shared.contracts.search import AnySearchResult

#: Hits that an answer is written from, and of these, how many documents are read for their texts.
HITS: Final = 10
MAX_READ: Final = 10
#: An answer ends by then, in seconds.
ANSWER_S: Final = 60.0
#: Characters of a passage and of a title that the contract of answers takes.
_TEXT_CHARS, _TITLE_CHARS = 20_000, 200


@dataclass(frozen=True, slots=True)
class AgentQuestion:
    """What is asked of a collection after which turns, in which kind of document, and how long the answer may be.

    With ``expand`` a chat model that writes answers also writes what is searched beside the question.
    """

    kind: AskedKind
    collection: str
    text: str
    answer_tokens: int = ANSWER_TOKENS
    conditions: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[Turn, ...] = ()
    expand: bool = True


@dataclass(frozen=True, slots=True)
class Sources:
    """What the search found, each hit with its text, and what the search lacked."""

    found: Sequence[FoundHit]
    job_id: str
    missing: tuple[Degradation, ...]


class NoAnswer(Exception):
    """Raised when no answer was written although there are passages to write it from.

    Attributes:
        is_late: Whether the time was up; otherwise the chat model did not do its part.
    """

    def __init__(self, reason: str, job_id: str, *, is_late: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.job_id = job_id
        self.is_late = is_late

    @property
    def remedy(self) -> str:
        """What can be done at the workers."""
        if self.is_late:
            return (
                f"It had {ANSWER_S:g} s: a faster CHAT_MODEL helps, or fewer tokens of passages"
                " (QUERYMILL_ANSWER_TOKENS of the workers)."
            )
        return CHAT_MODEL_SETTINGS


async def sources_of(access: Access, question: AgentQuestion) -> Sources:
    """Search for the passages that a question is answered from."""
    search = search_of(
        question.kind, question.collection, question.text,
        limit=HITS, conditions=question.conditions, history=question.history,
        expands=question.expand and await access.writes_answers(),
    )  # fmt: skip
    result = cast("AnySearchResult", await run(access, cast("Asks[JobResult]", search)))
    found = await texts_of(access, found_in(result), every=True)
    return Sources([hit for hit in found if not lacks_text(hit)], result.job_id, result.degraded)


async def texts_of(
    access: Access, found: Sequence[FoundHit], *, every: bool = False, most: int = MAX_READ
) -> list[FoundHit]:
    """Read the texts of hits that have none from their documents, ``most`` of these.

    With ``every``, read also those of the kinds whose hits show less of a document than an answer needs.
    """
    wanted = {
        _document_of(hit): None for hit in found if lacks_text(hit) or (every and hit.place.kind in READ_FOR_TEXT)
    }
    asked = list(wanted)[:most]
    documents = dict(zip(asked, await asyncio.gather(*(_read(access, *each) for each in asked)), strict=True))
    return [
        hit if (document := documents.get(_document_of(hit))) is None else with_text(hit, document) for hit in found
    ]


def _document_of(hit: FoundHit) -> tuple[Retriever, str, str]:
    return hit.place.kind, hit.place.collection, hit.place.document


async def _read(access: Access, kind: Retriever, collection: str, document: str) -> Mapping[str, Any] | None:
    """Return a document, None if it has been dropped since it was found."""
    try:
        shown = await run(access, ShowDocument(retriever=kind, collection=collection, id=document))
    except JobEnded:
        return None
    return shown.document


async def begin_answer(access: Access, question: AgentQuestion, sources: Sources) -> Running:
    """Have the answer written."""
    hits = tuple(
        AnswerHit(id=number, text=hit.text[:_TEXT_CHARS], title=hit.title[:_TITLE_CHARS] or None, score=hit.score)
        for number, hit in enumerate(sources.found, start=1)
    )
    request = AnswerQuestion(
        query=question.text,
        # It holds texts of each, so it is seen, and forgotten, with each.
        collection=JOINED.join(dict.fromkeys(hit.place.collection for hit in sources.found)),
        hits=hits,
        history=question.history,
        answer_tokens=question.answer_tokens,
        deadline=ANSWER_S,
    )
    return await access.submit(request)


async def parts_of(job: Running) -> AsyncGenerator[AnswerPart]:
    """Yield the parts of an answer as it is written. If the caller goes, the job is cancelled."""
    try:
        events: Any = job.events(timeout=ANSWER_S + MARGIN_S)
        async with aclosing(events):
            async for event in events:
                if isinstance(event, AnswerPart):
                    yield event
    except (asyncio.CancelledError, GeneratorExit):
        await cancel(job)
        raise


async def end_of(job: Running) -> tuple[WrittenAnswer, AnswerResult]:
    """Wait for a whole answer.

    Raises:
        NoAnswer: None was written, with the reason.
        JobEnded: The job ended without a result.
    """
    try:
        result: AnswerResult = await job.result(ANSWER_S + MARGIN_S)
    except asyncio.CancelledError:
        await cancel(job)
        raise
    if result.answer is None:
        reasons = "; ".join(part.reason for part in result.degraded)
        is_late = not reasons or any(part.code == "deadline" for part in result.degraded)
        raise NoAnswer(reasons or "it was not written in time", job.id, is_late=is_late)
    return result.answer, result
