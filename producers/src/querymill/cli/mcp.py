"""``querymill mcp``: an MCP server on standard input and output, for agents on this machine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import typer

from querymill.cli.exits import WrongUse
from querymill.install_hints import install_hint


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(mcp)


def mcp(
    collection: Annotated[list[str], typer.Option(help="a collection to serve; may be given several times")],
    ingest: Annotated[bool, typer.Option("--ingest", help="offer the tool that stores documents, too")] = False,
) -> None:
    """Serve MCP on standard input and output: search, answer, list and read the given collections."""
    try:
        from querymill.agents.server import serve_tools
    except ImportError as error:
        raise WrongUse(f"the MCP server is not installed; {install_hint('mcp')}") from error
    asyncio.run(_serve(serve_tools, collection, may_ingest=ingest))


async def _serve(serve_tools: Any, collections: list[str], *, may_ingest: bool) -> None:
    from mcp.server.stdio import stdio_server

    from querymill.agents.access import Access, ClientAccess
    from querymill.cli.kinds.conversations.zone import in_zone
    from querymill.client.mill import AsyncQuerymill

    async with AsyncQuerymill() as mill:
        access = ClientAccess(mill, collections, may_ingest=may_ingest, own=in_zone({}, with_file=False))

        @asynccontextmanager
        async def opens(_: object) -> AsyncIterator[Access]:
            yield access

        server = serve_tools(opens)
        # Standard output is the wire: what is logged goes to standard error.
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
