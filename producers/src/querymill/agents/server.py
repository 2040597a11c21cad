"""The MCP server: the five tools, listed and called by the scopes of the caller. Results are text only.

The SDK serves both eras of the protocol: the newer without sessions, the older with its handshake.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final, cast

from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import BaseModel, ValidationError

from querymill.agents.access import Access
from querymill.agents.loose import as_meant, surplus_of
from querymill.agents.tools import answer, ingesting, listing, reading, search
from querymill.agents.tools.faults import Fault, listed, of_rules, quoted, sentence_of
from querymill.keys import Scope
from querymill_shared.contracts.submit_options import LABELS

_log = logging.getLogger(__name__)

INSTRUCTIONS: Final = (
    "Search documents, chats and code that are stored here. Start with search; read an id for more of it. Cite the ids."
)
#: Where in the `_meta` of a call a host names the labels of its jobs.
LABELS_META: Final = "querymill/labels"
Context = ServerRequestContext[Any, Any]
#: Opens the access of whose request it is, for the time of the request.
Opens = Callable[[Context], AbstractAsyncContextManager[Access]]
#: Says what an error of another layer is, or None.
Explains = Callable[[Exception], str | None]


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool: what it takes, what it does, and the scope that it needs."""

    name: str
    description: str
    arguments: type[BaseModel]
    call: Callable[[Access, Any], Awaitable[str]]
    scope: Scope = Scope.SEARCH

    @property
    def as_listed(self) -> Tool:
        """The tool as it is described to hosts. Every turn of a chat pays for its schema, so the schema is short."""
        writes = self.scope is not Scope.SEARCH
        hints = ToolAnnotations(
            read_only_hint=not writes, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        )
        schema = cast("dict[str, Any]", short(self.arguments.model_json_schema()))
        return Tool(name=self.name, description=self.description, input_schema=schema, annotations=hints)


TOOLS: Final[Mapping[str, OfferedTool]] = {
    tool.name: tool
    for tool in (
        OfferedTool("search", search.DESCRIPTION, search.SearchArguments, search.call),
        OfferedTool("answer", answer.DESCRIPTION, answer.AnswerArguments, answer.call),
        OfferedTool("list", listing.DESCRIPTION, listing.ListArguments, listing.call),
        OfferedTool("read", reading.DESCRIPTION, reading.ReadArguments, reading.call),
        OfferedTool("ingest", ingesting.DESCRIPTION, ingesting.IngestArguments, ingesting.call, Scope.INGEST),
    )
}


#: What a schema can do without: a model calls a tool no better for it, and the server checks the arguments anyway.
_LEFT_OUT: Final = frozenset(("title", "minLength", "maxLength", "minItems"))


def short(schema: Any) -> Any:
    """Return a schema without what it can do without. What may be null need not be given instead."""
    match schema:
        case {"anyOf": [dict(kind), {"type": "null"}], **others}:
            return short(kind | {name: value for name, value in others.items() if name != "default"})
        case {"type": "object", "properties": dict(properties), **others}:
            kept = {name: value for name, value in others.items() if name not in _LEFT_OUT | {"description"}}
            return {"type": "object", "properties": {name: short(each) for name, each in properties.items()}, **kept}
        case dict():
            kept = {name: value for name, value in schema.items() if name not in _LEFT_OUT}
            return {name: short(value) for name, value in kept.items() if (name, value) != ("default", {})}
        case _:
            return schema


def serve_tools(opens: Opens, *, explains: Explains = sentence_of) -> Server[Any]:
    """Make the server."""

    async def list_tools(context: Context, _: PaginatedRequestParams | None) -> ListToolsResult:
        async with opens(context) as access:
            return ListToolsResult(tools=[tool.as_listed for tool in TOOLS.values() if tool.scope in access.scopes])

    async def call_tool(context: Context, asked: CallToolRequestParams) -> CallToolResult:
        try:
            async with opens(context) as access:
                labelled = access.labelled(_labels_of(asked))
                return _told(await _called(labelled, asked.name, asked.arguments or {}))
        except Exception as error:  # noqa: BLE001  # whatever it is, the model gets a sentence
            return _told(_said(error, explains), is_error=True)

    return Server(
        "querymill",
        version=version("querymill"),
        title="Querymill",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda name: TOOLS[name].as_listed.input_schema if name in TOOLS else None,
    )


def _labels_of(asked: CallToolRequestParams) -> Mapping[str, str]:
    """Return the labels that a host gives to the jobs of a call. A model is not asked for them: they are no argument.

    Raises:
        Fault: They are none.
    """
    given = dict(asked.meta or {}).get(LABELS_META)
    try:
        return LABELS.validate_python(given or {})
    except ValidationError as error:
        raise Fault(f"_meta.{LABELS_META}: {of_rules(error)}") from error


async def _called(access: Access, name: str, arguments: Mapping[str, Any]) -> str:
    offered = [tool.name for tool in TOOLS.values() if tool.scope in access.scopes]
    if name not in offered:
        raise Fault(f"no tool {quoted(name)}; there are {listed(offered)}")
    tool = TOOLS[name]
    surplus = surplus_of(arguments, tool.arguments)
    said = await tool.call(access, _read(tool.arguments, arguments, surplus))
    return f"{said}\n{name} has no {listed([quoted(each) for each in surplus])}: left out." if surplus else said


def _read(model: type[BaseModel], written: Mapping[str, Any], surplus: Sequence[str]) -> BaseModel:
    """Read the arguments of a tool without those that it does not have.

    Raises:
        ValidationError: They break a rule. It names those that the tool does not have, too: one may be misspelt.
    """
    meant = as_meant(written, model)
    try:
        return model.model_validate(meant)
    except ValidationError:
        return model.model_validate(meant | {name: written[name] for name in surplus})


def _said(error: Exception, explains: Explains) -> str:
    said = explains(error)
    if said is None:
        # No traceback: the values in it may be a question.
        _log.error("a tool failed: %s", type(error).__name__)
        return "The server has a defect; its log names it."
    return said


def _told(text: str, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)
