"""An agent that finds its answer with Querymill's tools over MCP: it searches, reads what it found, and says where.

The model is scripted, so that this runs without a key. Put yours in its place: it gets the messages and the tools.
Run it in this folder of a checkout:
  pip install ../../../shared ../../histories ../../reading "../..[mcp]"
  REDIS_URL=redis://127.0.0.1:6379/0 python agent.py filings "How many ships does Nordhav have?"
"""

import asyncio
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcp import Client, StdioServerParameters
from mcp_types import TextContent, Tool

MAX_TURNS = 6


@dataclass(frozen=True)
class Call:
    """What a model asks for: a tool by its name, with arguments that fit its schema."""

    tool: str
    arguments: dict[str, Any]


def scripted_model(messages: Sequence[dict[str, str]], tools: Sequence[Tool]) -> Call | str:  # noqa: ARG001  # yours reads them
    """Search for the question, read the first hit, answer with it. A language model decides this by itself."""
    replies = [message["content"] for message in messages if message["role"] == "tool"]
    if not replies:
        return Call("search", {"query": messages[0]["content"], "limit": 3})
    place = re.search(r" · id (\S+)", replies[0])
    if place is None:
        return replies[0]  # nothing was found, or the tool says why it cannot search
    if len(replies) == 1:
        return Call("read", {"id": place[1]})
    return f"From {place[1]}:\n{replies[1]}"


async def answer(collection: str, question: str) -> str:
    """Let the model use the tools until it answers."""
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "querymill", "mcp", "--collection", collection], env=dict(os.environ)
    )
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        messages = [{"role": "user", "content": question}]
        for _ in range(MAX_TURNS):
            decided = scripted_model(messages, tools)
            if isinstance(decided, str):
                return decided
            print(f"→ {decided.tool} {decided.arguments}", file=sys.stderr)
            result = await client.call_tool(decided.tool, decided.arguments)
            said = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
            messages.append({"role": "tool", "content": said})
    return f"no answer after {MAX_TURNS} turns"


if __name__ == "__main__":
    print(asyncio.run(answer(*sys.argv[1:3])))
