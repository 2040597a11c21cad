"""A chat backend with a page: hits and the answer stream in. If the reader leaves, the job is cancelled.

Run it in this folder of a checkout, and open http://127.0.0.1:8000 (REDIS_URL and COLLECTION say what is searched):
  pip install ../../../shared ../../histories ../../reading "../..[board]" "fastapi>=0.135" uvicorn
  REDIS_URL=redis://127.0.0.1:6379/0 COLLECTION=filings uvicorn app:app
With "../..[http]", MILL_URL and MILL_KEY name a gateway in place of REDIS_URL.
"""

import os
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import anyio
from fastapi import FastAPI
from fastapi.responses import FileResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent

from querymill import AnswerPart, AsyncQuerymill, QuerymillError, ReportSearch

COLLECTION = os.environ.get("COLLECTION", "filings")
URL, KEY = os.environ.get("MILL_URL"), os.environ.get("MILL_KEY")


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncQuerymill(url=URL, api_key=KEY) as app.state.mill:  # one client serves all readers of this process
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/")
def page() -> FileResponse:
    return FileResponse(Path(__file__).with_name("page.html"))


@app.get("/ask", response_class=EventSourceResponse)
async def ask(question: str) -> AsyncIterator[ServerSentEvent]:
    job = None
    try:
        request = ReportSearch(query=question, collection=COLLECTION, top_n=5, answer=True, deadline=30)
        job = await app.state.mill.submit(request)
        async with aclosing(job.events(timeout=35)) as events:
            async for event in events:
                if event.type == "hits":  # the ranking so far
                    yield ServerSentEvent(event="hits", data=event)
                elif isinstance(event, AnswerPart):  # the answer so far is so_far[:offset] + text
                    yield ServerSentEvent(event="answer", data=event)
        yield ServerSentEvent(event="result", data=await job.result())
    except (QuerymillError, ValueError) as error:  # such as an unknown collection, or an empty question
        yield ServerSentEvent(event="problem", data=str(error))
    finally:
        if job is not None:  # if the reader has left, nobody needs the answer; a job that has ended stays as it is
            with anyio.CancelScope(shield=True):
                await job.cancel()
