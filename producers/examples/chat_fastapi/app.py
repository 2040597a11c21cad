"""A chat backend with a page: hits from all that is stored, then the answer as it is written. A new question ends it.

Run it in this folder of a checkout, and open http://127.0.0.1:8000:
  pip install ../../../shared ../../histories ../../reading "../..[board]" "fastapi>=0.135" uvicorn
  REDIS_URL=redis://127.0.0.1:6379/0 uvicorn app:app     # or "../..[http]", and MILL_URL and MILL_KEY of a gateway
"""

import os
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import anyio
from fastapi import FastAPI
from fastapi.responses import FileResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent

from querymill import AnswerHit, AnswerPart, AnswerQuestion, AsyncQuerymill, JointHit, QuerymillError, Search, Turn

# Without a name in COLLECTIONS, all that you may read. These kinds hold their texts in their hits.
SEARCHED = {"collections": os.environ.get("COLLECTIONS", "").split(), "kinds": ("reports", "messages"), "top_k": 5}
chats: dict[str, list[Turn]] = defaultdict(list)  # what was said in each session; yours is in a database


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncQuerymill(url=os.environ.get("MILL_URL"), api_key=os.environ.get("MILL_KEY")) as app.state.mill:
        yield  # one client serves all readers of this process


app = FastAPI(lifespan=lifespan)
app.get("/")(lambda: FileResponse(__file__.replace("app.py", "page.html")))


@app.get("/ask", response_class=EventSourceResponse)
async def ask(question: str, session: str) -> AsyncIterator[ServerSentEvent]:
    said, about, job = chats[session], {"query": question, "history": chats[session][-20:]}, None
    options = {"supersedes": {"session": session}, "labels": {"turn": str(len(said) // 2 + 1)}}
    try:
        found = await (job := await app.state.mill.submit(Search(**about, **SEARCHED), **options)).result(timeout=15)
        yield ServerSentEvent(event="hits", data=(hits := [passage(*hit) for hit in enumerate(found.results, start=1)]))
        request = AnswerQuestion(**about, hits=hits, collection=",".join(found.collections), deadline=30)
        async with aclosing((job := await app.state.mill.submit(request, **options)).events(timeout=35)) as events:
            async for event in events:
                if isinstance(event, AnswerPart):  # the answer so far is so_far[:offset] + text
                    yield ServerSentEvent(event="answer", data=event)
        yield ServerSentEvent(event="result", data=(result := await job.result()))
        said += [Turn(role="user", text=question), Turn(role="assistant", text=getattr(result.answer, "text", ""))]
    except (QuerymillError, ValueError) as error:  # such as an empty question, or a newer one
        yield ServerSentEvent(event="problem", data=str(error))
    finally:
        if job is not None:  # if the reader has left, nobody needs the answer; a job that has ended stays as it is
            with anyio.CancelScope(shield=True):
                await job.cancel()


def passage(number: int, found: JointHit) -> AnswerHit:
    is_page, hit = found.kind == "reports", found.hit
    title = f"{hit.title}, page {hit.page}" if is_page else hit.session_name
    return AnswerHit(id=number, text=hit.text if is_page else hit.content, title=title)
