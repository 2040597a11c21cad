"""An answer as it is written, in the parts of an OpenAI-compatible stream.

Nothing is sent before the first part of the answer or the first heartbeat, so what goes wrong before has a status.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Message, Receive, Scope, Send

from querymill.agents.found import FoundHit
from querymill.gateway.http import problems
from querymill.gateway.http.context import Stopping
from querymill.gateway.http.problems import Problem, unavailable
from querymill.gateway.http.sse import GRACE_S, HEARTBEAT_S, SEND_S, Place
from querymill.gateway.openai.shape import Usage, annotations_of, chunk_of, delta_of, error_of
from querymill_shared.contracts.answer import WrittenAnswer
from querymill_shared.contracts.events import AnswerPart

#: What stands between an answer that the chat model left and the one that it began instead.
BEGUN_AGAIN: Final = "\n\n---\n\n"
#: What stands above a quotation, where the chat model had begun an answer and left it. By language.
BROKEN_OFF: Final = {
    "en": "The chat model broke off. Quoted from the sources instead:\n\n",
    "zh": "对话模型中断了回答。以下为原文摘录：\n\n",
}
_DONE: Final = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class ReplyHead:
    """What every part of a reply says of it."""

    model: str
    created: int
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid4().hex}")


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of an answer. ``more`` is what this gateway knows beyond the shape: jobs, sources, what is missing."""

    text: str
    sources: Sequence[FoundHit]
    links: Sequence[str]
    is_cut: bool = False
    usage: Usage | None = None
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def finish_reason(self) -> Any:
        """Why the answer ended."""
        return "length" if self.is_cut else "stop"


#: The parts of an answer, then its end.
Told = AsyncGenerator[str | Finished]


class Transcript:
    """What a client was sent of an answer. It can be told more, but nothing can be taken back.

    If the chat model begins again, nothing is sent until the new answer is longer than what was sent, or ends.
    """

    def __init__(self) -> None:
        self.sent = ""
        self._written = ""

    def take(self, part: AnswerPart) -> str:
        """Take a part of the answer, and return what is to be sent."""
        self._written = self._written[: part.offset] + part.text
        return self._rest(self._written)

    def end(self, answer: WrittenAnswer) -> str:
        """Take the whole answer, and return what is still to be sent.

        A quotation that stands in for an answer of which a beginning was sent says that it is one.
        """
        if answer.text.startswith(self.sent):
            return self._rest(answer.text)
        rest = BEGUN_AGAIN + (BROKEN_OFF[answer.language] if answer.quoted else "") + answer.text
        self.sent += rest
        return rest

    def _rest(self, text: str) -> str:
        if not text.startswith(self.sent):
            return ""
        rest, self.sent = text[len(self.sent) :], text
        return rest


class CompletionStream(EventSourceResponse):
    """The response. It ends with ``[DONE]`` only if the answer is whole."""

    def __init__(
        self,
        told: Told,
        reply: ReplyHead,
        *,
        with_usage: bool,
        stopping: Stopping,
        place: Place,
    ) -> None:
        super().__init__(
            self._parts(told),
            sep="\n",
            ping=HEARTBEAT_S,
            ping_message_factory=lambda: ServerSentEvent(comment="ok", sep="\n"),
            send_timeout=SEND_S,
            shutdown_grace_period=GRACE_S,
        )
        self._reply = reply
        self._with_usage = with_usage
        self._stopping = stopping
        self._place = place
        self._sent = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer as it is written, until it ends or the client goes."""
        head: list[Message] = []
        sending = asyncio.Lock()  # a heartbeat may come beside a part

        async def begin_late(message: Message) -> None:
            if message["type"] == "http.response.start":
                head.append(message)
                return
            async with sending:
                while head:
                    await send(head.pop())
                await send(message)

        async with self._place():
            await super().__call__(scope, receive, begin_late)

    async def _parts(self, told: Told) -> AsyncGenerator[bytes]:
        has_begun = False
        try:
            async with aclosing(told):
                while True:
                    part = await self._next(told)
                    if not has_begun:
                        has_begun = True
                        yield self._chunk([delta_of({"role": "assistant", "content": ""})])
                    if isinstance(part, Finished):
                        yield self._last(part)
                        return
                    self._sent += part
                    yield self._chunk([delta_of({"content": part})])
        except Exception as error:
            if not has_begun:
                raise
            problem = problems.of(error) or Problem("bug")
            yield f"data: {json.dumps({'error': error_of(problem).model_dump()})}\n\n".encode()

    async def _next(self, told: Told) -> str | Finished:
        try:
            async with asyncio.timeout(None) as patience:
                with self._stopping.calling(lambda: patience.reschedule(0)):
                    return await anext(told)
        except TimeoutError:
            if patience.expired():
                raise unavailable("the gateway is stopping") from None
            raise

    def _last(self, end: Finished) -> bytes:
        annotations = [each.model_dump() for each in annotations_of(self._sent, end.sources, end.links)]
        cited = [self._chunk([delta_of({"annotations": annotations})])] if annotations else []
        last = self._chunk([delta_of({}, end.finish_reason)], querymill=end.more)
        usage = None if end.usage is None else end.usage.model_dump()
        used = [self._chunk([], usage=usage)] if self._with_usage else []
        return b"".join([*cited, last, *used, _DONE])

    def _chunk(self, choices: Sequence[Any], **more: Any) -> bytes:
        chunk = chunk_of(self._reply.id, self._reply.created, self._reply.model, choices, **more)
        return f"data: {json.dumps(chunk)}\n\n".encode()
