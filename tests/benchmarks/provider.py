"""A model provider with a limit: answers like the real ones, says 429 when a minute's share is used up, and counts.

Run as ``python -m tests.benchmarks.provider PORT [slow | steady] [TOKENS_PER_MINUTE]``. Its limit is a bucket that
holds ``BURST`` requests and gets a sixtieth of the limit each second, for chat and embeddings apart; tokens likewise.
GET /figures tells what came, POST /reset forgets it.

Every text gets the same vector, written beforehand: how long an answer takes is the script's choice, and not a matter
of how busy the processor is.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.fakes.openai_server import method_of
from tests.fakes.vectors import DIMENSIONS

REQUESTS_PER_MINUTE = 600
TOKENS_PER_MINUTE = 400_000
BURST = 10
CHAT_S, EMBEDDING_S = 0.8, 0.06
#: A slow provider sets no limit, but embeds this many requests at a time, each as long as its tokens.
AT_A_TIME, S_PER_TOKEN = 4, 0.0003
SLOW = "slow"
#: A steady provider sets no limit, and every call takes as long.
STEADY, STEADY_S = "steady", 0.2
#: The vector of every text, as JSON.
VECTOR = json.dumps([1.0] + [0.0] * (DIMENSIONS - 1), separators=(",", ":"))
#: The limit of this provider.
LIMIT = next((int(word) for word in sys.argv[2:] if word.isdigit()), TOKENS_PER_MINUTE)


#: Whether this provider is a steady one.
IS_STEADY = STEADY in sys.argv[2:]


class Bucket:
    """What may still come: refilled steadily, never more than ``most``."""

    def __init__(self, per_minute: float, most: float) -> None:
        self._rate, self._most = per_minute / 60, most
        self._level, self._seen = most, time.monotonic()

    def take(self, units: float) -> float:
        """Take units if they are there; else the seconds until they will be."""
        now = time.monotonic()
        self._level = min(self._most, self._level + (now - self._seen) * self._rate)
        self._seen = now
        if self._level < units:
            return (units - self._level) / self._rate
        self._level -= units
        return 0.0


@dataclass
class Endpoint:
    """One of the two: its limits, and what came."""

    requests: Bucket = field(default_factory=lambda: Bucket(REQUESTS_PER_MINUTE, BURST))
    tokens: Bucket = field(default_factory=lambda: Bucket(LIMIT, LIMIT / 20))
    refused: int = 0
    used: int = 0
    arrivals: list[float] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)

    def limited(self, tokens: float) -> Response | None:
        """Answer 429 when the limit is used up."""
        wait = 0.0 if IS_STEADY else self.requests.take(1) or self.tokens.take(tokens)
        if not wait:
            self.arrivals.append(time.monotonic())
            return None
        self.refused += 1
        error = {"error": {"message": "rate limit", "type": "requests", "code": "rate_limit_exceeded"}}
        return JSONResponse(error, 429, headers={"retry-after-ms": str(int(wait * 1000) + 1), "retry-after": "1"})

    def figures(self) -> dict[str, Any]:
        """Say what came."""
        span = self.arrivals[-1] - self.arrivals[0] if len(self.arrivals) > 1 else 0.0
        return {
            "calls": len(self.arrivals), "http_429": self.refused, "span_s": span,
            "asked": sum(self.asked.values()), "unique": len(self.asked), "tokens": self.used,
        }  # fmt: skip


#: The places of a slow provider, or None if it has a limit instead.
slots = asyncio.Semaphore(AT_A_TIME) if SLOW in sys.argv[2:] else None
endpoints = {"chat": Endpoint(), "embeddings": Endpoint()}


async def chat(request: Request) -> Response:
    """Reword the question by the method that the prompt asks for."""
    body = await request.json()
    prompt = "\n".join(turn["content"] for turn in body["messages"])
    tokens = len(prompt) // 4
    refusal = endpoints["chat"].limited(tokens)
    if refusal is not None:
        return refusal
    endpoints["chat"].asked[prompt] += 1
    endpoints["chat"].used += tokens + 12
    await asyncio.sleep(STEADY_S if IS_STEADY else CHAT_S)
    method, question = method_of(body), body["messages"][-1]["content"].rsplit("question ", 1)[-1][:12]
    content = f"| revenue of {question} | 10 |" if method == "hyde" else f"<{method} of {question}>"
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    usage = {"prompt_tokens": tokens, "completion_tokens": 12, "total_tokens": tokens + 12}
    return JSONResponse(
        {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
    )


async def embeddings(request: Request) -> Response:
    """Embed, after the time that the script says."""
    body = await request.json()
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    tokens = sum(len(text) // 4 + 1 for text in texts)
    if slots is None:
        refusal = endpoints["embeddings"].limited(tokens)
        if refusal is not None:
            return refusal
        await asyncio.sleep(STEADY_S if IS_STEADY else EMBEDDING_S)
    else:
        async with slots:
            await asyncio.sleep(EMBEDDING_S + tokens * S_PER_TOKEN)
    endpoints["embeddings"].asked.update(texts)
    endpoints["embeddings"].used += tokens
    rows = ",".join(f'{{"object":"embedding","index":{place},"embedding":{VECTOR}}}' for place in range(len(texts)))
    usage = f'{{"prompt_tokens":{tokens},"total_tokens":{tokens}}}'
    answer = f'{{"object":"list","model":"m","data":[{rows}],"usage":{usage}}}'
    return Response(answer, media_type="application/json")


async def figures(_: Request) -> Response:
    """Say what came since the last reset."""
    return JSONResponse({name: endpoint.figures() for name, endpoint in endpoints.items()})


async def reset(_: Request) -> Response:
    """Forget what came; the buckets are full again."""
    for name in endpoints:
        endpoints[name] = Endpoint()
    return Response(status_code=204)


app = Starlette(
    routes=[
        Route("/v1/chat/completions", chat, methods=["POST"]),
        Route("/v1/embeddings", embeddings, methods=["POST"]),
        Route("/figures", figures),
        Route("/reset", reset, methods=["POST"]),
    ]
)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
