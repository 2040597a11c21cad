"""The tool ``answer``."""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from querymill.agents.access import Access
from querymill.agents.answering import AgentQuestion, NoAnswer, Sources, begin_answer, end_of, sources_of
from querymill.agents.stored_text import clean
from querymill.agents.tools.faults import Fault
from querymill.agents.tools.replies import ReplyEntry, compose, entry_of
from querymill.agents.tools.scope import chosen
from querymill.agents.tools.search import history_of, missing
from querymill_shared.contracts.answer import WrittenAnswer
from querymill_shared.contracts.fields import MAX_QUERY_CHARS
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.results import Degradation

DESCRIPTION: Final = (
    "Have a question answered from stored documents, with citations [n]. Slower than `search`,"
    " which gives the passages."
)
#: Tokens of the reply that are kept for the sources: the rest is the answer's.
_SOURCES_SHARE: Final = 0.5
#: What stands before an answer that no chat model wrote.
_QUOTED: Final = "Quoted from the sources; no chat model wrote an answer:"
_NOT_THERE: Final = "The stored documents hold nothing that answers this."


class AnswerArguments(BaseModel):
    """What the tool takes."""

    model_config = ConfigDict(extra="forbid")

    question: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS)]
    collection: str | None = None
    kind: Retriever | None = None
    history: str = ""
    max_tokens: Annotated[int, Field(ge=200, le=4_000)] = 600


async def call(access: Access, arguments: AnswerArguments) -> str:
    """Answer a question, and name the sources that the answer cites.

    Raises:
        Fault: There is no such collection, or no answer was written.
    """
    collection, kind = await chosen(access, arguments.collection, arguments.kind)
    tokens = int(arguments.max_tokens * (1 - _SOURCES_SHARE))
    history = history_of(arguments.history)
    question = AgentQuestion(kind, collection, arguments.question, answer_tokens=tokens, history=history)
    sources = await sources_of(access, question)
    if not sources.found:
        return f"{_NOT_THERE} The search found nothing in {collection} ({kind}).{missing(sources.missing)}"
    try:
        written, result = await end_of(await begin_answer(access, question, sources))
    except NoAnswer as error:
        said = f"No answer was written: {error.reason}. The tool `search` finds passages without the chat model."
        raise Fault(said) from error
    return _reply(access, written, sources, (*sources.missing, *result.degraded), arguments.max_tokens)


def _reply(
    access: Access, written: WrittenAnswer, sources: Sources, lacks: tuple[Degradation, ...], max_tokens: int
) -> str:
    entries = [_source(access, citation.number, sources) for citation in written.citations]
    text = clean(written.text)
    if written.quoted and entries:
        text = f"{_QUOTED}\n{text}"
    head = text if entries else f"{text}\n(No passage is cited: {_NOT_THERE})"
    notes = missing(lacks).strip()
    return compose(
        lambda _: f"{head}\nSources:" if entries else head, entries, foot=lambda _: notes, max_tokens=max_tokens
    )


def _source(access: Access, number: int, sources: Sources) -> ReplyEntry:
    hit = sources.found[number - 1]
    return ReplyEntry(entry_of(number, hit, access.link(hit.place)).line)
