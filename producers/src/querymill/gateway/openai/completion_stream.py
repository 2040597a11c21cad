"""An answer as it is written, in the parts of an OpenAI-compatible stream.

Nothing is sent before the first part of the answer or the first heartbeat, so what goes wrong before has a status.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from querymill.agents.found import Found
from querymill.gateway.http import problems
from querymill.gateway.http.gate import Stopping
from querymill.gateway.http.problems import Problem, unavailable
from querymill.gateway.http.sse import HEARTBEAT_S, MEDIA_TYPE, SEND_S
from querymill.gateway.http.waiting import until_gone
from querymill.gateway.openai.shape import Usage, annotations_of, chunk_of, delta_of, error_of
from querymill_shared.contracts.events import AnswerPart

#: What stands between an answer that the chat model left and the one that it began instead.
BEGUN_AGAIN: Final = "\n\n---\n\n"
_DONE: Final = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Reply:
    """What every part of a reply says of it."""

    model: str
    created: int
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid4().hex}")


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of an answer. ``more`` is what this gateway knows beyond the shape: jobs, sources, what is missing."""

    text: str
    sources: Sequence[Found]
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

    def end(self, text: str) -> str:
        """Take the whole answer, and return what is still to be sent."""
        if text.startswith(self.sent):
            return self._rest(text)
        rest = BEGUN_AGAIN + text
        self.sent += rest
        return rest

    def _rest(self, text: str) -> str:
        if not text.startswith(self.sent):
            return ""
        rest, self.sent = text[len(self.sent) :], text
        return rest


class CompletionStream(Response):
    """The response. It ends with ``[DONE]`` only if the answer is whole."""

    media_type = MEDIA_TYPE

    def __init__(
        self,
        told: Told,
        reply: Reply,
        *,
        with_usage: bool,
        stopping: Stopping,
        place: Callable[[], AbstractAsyncContextManager[None]],
    ) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._told = told
        self._reply = reply
        self._with_usage = with_usage
        self._stopping = stopping
        self._place = place
        self._has_begun = False
        self._sent = ""

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """Send the answer as it is written, until it ends or the client goes."""
        async with self._place():
            inbox: asyncio.Queue[str | Finished | Exception | None] = asyncio.Queue()
            writing = asyncio.create_task(self._follow(inbox))
            gone = asyncio.create_task(until_gone(receive))
            gone.add_done_callback(lambda _: inbox.put_nowait(None))
            try:
                with self._stopping.calling(lambda: inbox.put_nowait(unavailable("the gateway is stopping"))):
                    await self._pass_on(inbox, send)
            finally:
                gone.cancel()
                writing.cancel()
                with suppress(asyncio.CancelledError):
                    await writing

    async def _follow(self, inbox: asyncio.Queue[str | Finished | Exception | None]) -> None:
        try:
            async with aclosing(self._told) as told:
                async for part in told:
                    inbox.put_nowait(part)
        except Exception as error:  # noqa: BLE001  # the other task answers it, whatever it is
            inbox.put_nowait(error)

    async def _pass_on(self, inbox: asyncio.Queue[str | Finished | Exception | None], send: Send) -> None:
        while True:
            try:
                async with asyncio.timeout(HEARTBEAT_S):
                    part = await inbox.get()
            except TimeoutError:
                await self._send(send, b": ok\n\n")
                continue
            match part:
                case None:
                    return
                case str():
                    self._sent += part
                    await self._send(send, self._chunk([delta_of({"content": part})]))
                case Finished():
                    await self._send(send, self._last(part), more=False)
                    return
                case _:
                    await self._fail(part, send)
                    return

    async def _fail(self, error: Exception, send: Send) -> None:
        if not self._has_begun:
            raise error
        problem = problems.of(error) or Problem("bug")
        body = json.dumps({"error": error_of(problem).model_dump()})
        await self._send(send, f"data: {body}\n\n".encode(), more=False)

    async def _send(self, send: Send, data: bytes, *, more: bool = True) -> None:
        async with asyncio.timeout(SEND_S):
            if not self._has_begun:
                self._has_begun = True
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                data = self._chunk([delta_of({"role": "assistant", "content": ""})]) + data
            await send({"type": "http.response.body", "body": data, "more_body": more})

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
