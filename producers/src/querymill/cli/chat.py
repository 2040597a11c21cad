"""``querymill chat``: a conversation about a collection. Each question is asked with the turns before it."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Annotated, Final

import typer

from querymill.agents.access import Access, ClientAccess
from querymill.agents.answering import AgentQuestion, NoAnswer, begin_answer, end_of, parts_of, sources_of
from querymill.agents.searches import preferred
from querymill.cli.exits import Exit, WrongUse
from querymill.cli.kinds.conversations.zone import in_zone
from querymill.cli.screen import show_degraded
from querymill.cli.screen_answers import QUOTED_MARK, show_sources
from querymill.cli.terminal import Console
from querymill.client.mill import AsyncQuerymill
from querymill_shared.contracts.answer import ANSWER_TOKENS
from querymill_shared.contracts.errors import QuerymillError, UnknownCollection
from querymill_shared.contracts.fields import MAX_QUERY_CHARS
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.history import Turn
from querymill_shared.contracts.results import Degradation
from querymill_shared.earlier_turns import COUNTED_TURNS

#: What is typed to leave, and to begin a new conversation.
_LEAVE, _NEW = ("/quit", "/exit"), "/new"
_PROMPT: Final = "\n> "
_NOTHING: Final = "The stored documents hold nothing that answers this."
#: Of a turn, so many characters are kept.
_TURN_CHARS: Final = 10_000


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(chat)


def chat(
    collection: Annotated[str, typer.Argument(help="the collection to talk about")],
    kind: Annotated[
        str | None, typer.Option(help="what to search where the collection holds several kinds of documents")
    ] = None,
    answer_tokens: Annotated[int, typer.Option(min=16, max=4_000, help="longest answer, in tokens")] = ANSWER_TOKENS,
    expand: Annotated[
        bool,
        typer.Option(help="where a chat model writes answers, let it also write what is searched beside the question"),
    ] = True,
) -> None:
    """Ask one question after another; each is understood with the turns before it, and answered with citations.

    /new begins a new conversation; /quit, Ctrl-D or Ctrl-C leaves. In a pipe, each line is a question.
    """
    console = Console()
    with asyncio.Runner() as runner:
        mill = runner.run(_opened())
        try:
            access = ClientAccess(mill, [collection], may_ingest=False, own=in_zone({}, with_file=False))
            asked = AgentQuestion(
                runner.run(kind_of(access, collection, kind)), collection, "", answer_tokens, expand=expand
            )
            talk = Conversation(access, asked)
            failed = False
            for question in questions(console):
                if question == _NEW:
                    talk.history = ()
                    continue
                failed = not _answered(runner, talk, question, console) or failed
        finally:
            runner.run(mill.close())
    if failed and not console.is_terminal:
        raise typer.Exit(Exit.FAILED)


async def _opened() -> AsyncQuerymill:
    return AsyncQuerymill()


async def kind_of(access: Access, collection: str, named: str | None) -> Retriever:
    """Return the kind that is searched in a collection.

    Raises:
        WrongUse: The collection does not hold the kind that was named.
        UnknownCollection: It holds nothing.
    """
    kinds = (await access.collections()).get(collection, ())
    if not kinds:
        raise UnknownCollection(collection, "documents", [])
    if named is None:
        return preferred(kinds)
    found = next((kind for kind in kinds if kind == named), None)
    if found is None:
        raise WrongUse(f"--kind: {collection} holds {', '.join(kinds)}, not {named!r}")
    return found


def questions(console: Console) -> Iterator[str]:
    """Yield what is asked, until somebody leaves. Blank lines are passed over."""
    if sys.stdin.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401  # input() has a history and can be edited
    while True:
        try:
            line = input(_PROMPT) if sys.stdin.isatty() else next(sys.stdin, None)
        except (EOFError, KeyboardInterrupt):
            line = None
        if line is None or line.strip() in _LEAVE:
            if sys.stdin.isatty():
                console.print()
            return
        if line.strip():
            yield line.strip()


def _answered(runner: asyncio.Runner, talk: "Conversation", question: str, console: Console) -> bool:
    """Answer a question; say what went wrong, if anything did. Ctrl-C ends the answer, and not the conversation."""
    said = Console(stderr=True, soft_wrap=True)
    try:
        lacks = runner.run(talk.ask(question, console))
    except KeyboardInterrupt:
        said.print("\ncancelled")
    except NoAnswer as error:
        said.print(f"No answer was written: {error.reason}. {error.remedy}", style="red")
    except (QuerymillError, TimeoutError, ValueError) as error:
        said.print(str(error) or "there was no answer in time", style="red")
    else:
        show_degraded(said, lacks)
        return True
    return False


class Conversation:
    """Questions about a collection, and what was said so far. ``history`` are the turns, the oldest first.

    Each question is ``asked`` like the one that is given, whose text is left alone.
    """

    def __init__(self, access: Access, asked: AgentQuestion) -> None:
        self._access = access
        self._asked = asked
        self.history: tuple[Turn, ...] = ()

    async def ask(self, question: str, console: Console) -> tuple[Degradation, ...]:
        """Answer a question: its parts are printed as they are written, then what they cite. Return what it lacks.

        Raises:
            ValueError: The question is too long.
            NoAnswer, QuerymillError, TimeoutError: There is no answer.
        """
        if len(question) > MAX_QUERY_CHARS:
            raise ValueError(f"a question must have at most {MAX_QUERY_CHARS:,} characters, this has {len(question):,}")
        asked = replace(self._asked, text=question, history=self.history)
        sources = await sources_of(self._access, asked)
        answer, lacks = None, sources.missing
        if sources.found:
            job = await begin_answer(self._access, asked, sources)
            written = ""
            async with aclosing(parts_of(job)) as parts:
                async for part in parts:
                    if part.offset == len(written):  # a part that takes back what is printed waits for the whole answer
                        console.print(part.text, end="")
                        written += part.text
            answer, result = await end_of(job)
            lacks += result.degraded
            rest = answer.text.removeprefix(written)
            console.print(rest if len(rest) < len(answer.text) or not written else f"\n{answer.text}")
            if answer.quoted:
                console.print(QUOTED_MARK)
            show_sources(console, [(each.number, sources.found[each.number - 1].title) for each in answer.citations])
        else:
            console.print(_NOTHING)
        self._remember(question, _NOTHING if answer is None else answer.text)
        return lacks

    def _remember(self, question: str, answer: str) -> None:
        turns = (Turn(role="user", text=question), Turn(role="assistant", text=answer[:_TURN_CHARS]))
        self.history = (*self.history, *turns)[-COUNTED_TURNS:]
