"""The OpenAI-compatible routes: collections are models, and the last question of a chat is answered from them.

    last user message -> search of what the collection holds -> answer with citations [n] -> annotations

The messages before it are its history: what the question refers back to is searched with it.
"""

import asyncio
import re
import time
from collections.abc import Sequence
from contextlib import aclosing
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse, Response
from pydantic import ValidationError

from querymill.agents.access import Access
from querymill.agents.answering import AgentQuestion, NoAnswer, Sources, begin_answer, end_of, parts_of, sources_of
from querymill.agents.searches import AskedKind, named_kind
from querymill.gateway.http import sse
from querymill.gateway.http.context import caller_of, context_of, need
from querymill.gateway.http.problems import Problem, invalid, of_rules, unavailable
from querymill.gateway.http.routing import COMMON, JSON, GatewayRoute, check_media
from querymill.gateway.http.submitting import read_body
from querymill.gateway.http.waiting import until_gone
from querymill.gateway.mcp import KeyAccess
from querymill.gateway.openai.completion_stream import CompletionStream, Finished, ReplyHead, Told, Transcript
from querymill.gateway.openai.shape import (
    COMPLETIONS,
    MODELS,
    Choice,
    Completion,
    CompletionRequest,
    Model,
    ModelList,
    OpenAIErrorBody,
    ReplyMessage,
    Usage,
    annotations_of,
    models_of,
    status_of,
)
from querymill.keys import Scope
from querymill_shared.contracts.answer import ANSWER, COMPLETION_TOKENS, AnswerResult, WrittenAnswer
from querymill_shared.contracts.fields import MAX_QUERY_CHARS
from querymill_shared.contracts.history import Turn
from querymill_shared.earlier_turns import COUNTED_TURNS
from querymill_shared.urls import mask_text

router = APIRouter(route_class=GatewayRoute, tags=["openai"])

#: What is said where nothing was found: no chat model is asked to write an answer from nothing.
NOTHING: Final = {
    "en": "The stored documents hold nothing that answers this.",
    "zh": "所存文档中没有能回答这个问题的内容。",
}
#: Of an earlier message, so many characters are passed on; less than that counts.
_TURN_CHARS: Final = 10_000
#: What leads to a chat model. Its provider's own words stand before it.
_NO_ANSWER: Final = {"code": "no_answer"}
_CHINESE: Final = re.compile("[\u4e00-\u9fff]")


def answers(
    found: dict[int | str, dict[str, Any]] | None = None, *problems: int, never: Sequence[int] = ()
) -> dict[int | str, dict[str, Any]]:
    """Describe what a compatible route answers; ``never`` has the common problems that it does not have."""
    described: dict[int | str, dict[str, Any]] = {
        status: {"description": "An error in OpenAI's shape", "model": OpenAIErrorBody}
        for status in sorted({status_of(each) for each in (*COMMON, *problems) if each not in never})
    }
    return {**(found or {}), **described}


@router.get(MODELS, response_model=ModelList, responses=answers(never=(404,)))
async def list_models(request: Request) -> Response:
    """List the collections that the key may search, as models."""
    need(caller_of(request), Scope.SEARCH)
    found = await KeyAccess(request).collections()
    return JSONResponse(ModelList(data=models_of(sorted(found.items()))).model_dump())


@router.get(f"{MODELS}/{{model:path}}", response_model=Model, responses=answers())
async def show_model(request: Request, model: Annotated[str, Path(description="id of the model")]) -> Response:
    """Show a model."""
    need(caller_of(request), Scope.SEARCH)
    await _model(request, model)
    return JSONResponse(Model(id=model).model_dump())


@router.post(
    COMPLETIONS,
    response_model=Completion,
    responses=answers(
        {200: {"content": {JSON: {}, sse.MEDIA_TYPE: {"schema": {"type": "string"}}}}}, 410, 415, 424, 504
    ),
)
async def complete(request: Request) -> Response:
    """Answer the last question of a chat from a collection, with citations. If the client goes, it is cancelled."""
    check_media(request, JSON)
    asked = await read_body(request, _read)
    need(caller_of(request), Scope.SEARCH)
    collection, kind = await _model(request, asked.model)
    text, history = _asked_in(asked)
    question = AgentQuestion(
        kind, collection, text, asked.answer_tokens, history=history, expand=asked.expand is not False
    )
    context, caller = context_of(request), caller_of(request)
    reply = ReplyHead(model=asked.model or collection, created=int(time.time()))
    parts = told(KeyAccess(request).labelled(asked.labels), question)
    if asked.stream:
        return CompletionStream(
            parts, reply, with_usage=asked.wants_usage, stopping=context.stopping, place=lambda: context.waiting(caller)
        )
    async with context.waiting(caller):
        return _completion(reply, await _whole(request, parts))


def _read(body: bytes) -> CompletionRequest:
    """Read a request.

    Raises:
        Problem: It breaks a rule.
    """
    try:
        return CompletionRequest.model_validate_json(body)
    except ValidationError as error:
        raise of_rules(error) from None


def _asked_in(request: CompletionRequest) -> tuple[str, tuple[Turn, ...]]:
    """Return the question of a chat, and the turns before it that may count.

    Raises:
        Problem: The user asked none, or it is too long.
    """
    said = [message for message in request.messages if message.role in ("user", "assistant") and message.text]
    asked = [place for place, message in enumerate(said) if message.role == "user"]
    if not asked:
        raise invalid(("messages", "must hold a message of the user with text"))
    question = said[asked[-1]].text
    if len(question) > MAX_QUERY_CHARS:
        raise invalid(("messages", f"the last one of the user must have at most {MAX_QUERY_CHARS} characters"))
    before = said[: asked[-1]][-COUNTED_TURNS:]
    turns = [{"role": message.role, "text": message.text[:_TURN_CHARS]} for message in before]
    return question, tuple(map(Turn.model_validate, turns))


async def _model(request: Request, written: str) -> tuple[str, AskedKind]:
    """Return the collection and the kind that a model stands for.

    Raises:
        Problem: There is no such model, or the key may not see it. The answer is the same.
    """
    name = written or caller_of(request).default_collection or ""
    if not name:
        raise invalid(("model", f"name a collection; GET {MODELS} lists them"))
    found = named_kind(name, await KeyAccess(request).collections())
    if found is None:
        said = f"There is no such model, or this key may not use it; GET {MODELS} lists those that it may."
        raise Problem("not-found", said, more={"param": "model", "code": "model_not_found"})
    return found


async def told(access: Access, question: AgentQuestion) -> Told:
    """Yield an answer as it is written, then its end.

    Raises:
        Problem: None was written.
    """
    sources = await sources_of(access, question)
    if not sources.found:
        text = NOTHING["zh" if _CHINESE.search(question.text) else "en"]
        yield text
        yield Finished(text, (), (), usage=Usage(prompt_tokens=0, completion_tokens=0, total_tokens=0))
        return
    job = await begin_answer(access, question, sources)
    transcript = Transcript()
    async with aclosing(parts_of(job)) as written:
        async for part in written:
            if text := transcript.take(part):
                yield text
    try:
        answer, result = await end_of(job)
    except NoAnswer as error:
        if transcript.sent:  # what there is by the deadline is better than nothing, and it is cited
            yield _cut_short(access, transcript.sent, error, sources)
            return
        said = f"No answer was written: {mask_text(error.reason)}. {error.remedy}"
        raise Problem("job-failed", said, more=_NO_ANSWER) from None
    if text := transcript.end(answer):
        yield text
    yield _finished(access, answer, result, sources)


def _cut_short(access: Access, text: str, error: NoAnswer, sources: Sources) -> Finished:
    """Return the end of an answer that broke off."""
    links = [access.link(hit.place) for hit in sources.found]
    more = {"jobs": [sources.job_id, error.job_id], "sources": [], "missing": [f"{ANSWER}: {mask_text(error.reason)}"]}
    return Finished(text, sources.found, links, is_cut=True, more=more)


def _finished(access: Access, answer: WrittenAnswer, result: AnswerResult, sources: Sources) -> Finished:
    links = [access.link(hit.place) for hit in sources.found]
    cited = [
        {"number": number, "id": str(sources.found[number - 1].place), "url": links[number - 1]}
        for number in dict.fromkeys(citation.number for citation in answer.citations)
    ]
    lacks = [f"{part.stage}: {mask_text(part.reason)}" for part in (*sources.missing, *result.degraded)]
    return Finished(
        answer.text,
        sources.found,
        links,
        # The board has no code for this yet, only the words of the step.
        is_cut=any(part.stage == ANSWER and part.reason.startswith("cut at ") for part in result.degraded),
        usage=_usage(result),
        more={
            "jobs": [sources.job_id, result.job_id],
            "sources": cited,
            "missing": lacks,
            "quoted": answer.quoted,
        },
    )


def _usage(result: AnswerResult) -> Usage | None:
    """Return the tokens as the chat model's provider counts them, None if it does not say."""
    total, written = result.usage.get("tokens", 0), result.usage.get(COMPLETION_TOKENS)
    if written is None or written > total:
        return None
    return Usage(prompt_tokens=total - written, completion_tokens=written, total_tokens=total)


async def _whole(request: Request, parts: Told) -> Finished:
    """Wait for a whole answer. It ends early if the client goes, or if the process is about to stop.

    Raises:
        Problem: The process is about to stop.
    """
    writing = asyncio.create_task(_end_of(parts))
    gone = asyncio.create_task(until_gone(request.receive))
    stop = asyncio.create_task(context_of(request).stopping.wait())
    tasks: tuple[asyncio.Task[Any], ...] = (writing, gone, stop)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not writing.done():
            raise unavailable("the gateway is stopping")  # or nobody is there to read it
        return writing.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _end_of(parts: Told) -> Finished:
    async with aclosing(parts):
        async for part in parts:
            if isinstance(part, Finished):
                return part
    raise Problem("bug")


def _completion(reply: ReplyHead, end: Finished) -> Response:
    message = ReplyMessage(content=end.text, annotations=annotations_of(end.text, end.sources, end.links))
    body = Completion(
        id=reply.id,
        created=reply.created,
        model=reply.model,
        choices=[Choice(message=message, finish_reason=end.finish_reason)],
        usage=end.usage,
        querymill=end.more,
    )
    return JSONResponse(body.model_dump(exclude={"usage"} if end.usage is None else None))
