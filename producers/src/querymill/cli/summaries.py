"""The help of the command line: a line for each command. It imports nothing heavy."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from itertools import groupby
from typing import Final

from querymill.cli.examples import FIRST_STEPS

#: The entry points that are commands. Each is named as its command and refers to a function ``register(app)``.
GROUP: Final = "querymill.commands"
ABOUT: Final = "Event-driven retrieval: submit a question, watch the search, read the result."


@dataclass(frozen=True, slots=True)
class CommandSummary:
    """A line of the help: the module of ``querymill.cli`` that has the command, its panel, and what it does.

    The commands of other distributions have no module here; ``extra`` names the extra that installs them, and
    ``declared_as`` the entry point that adds them, unless that has the name of the command.
    """

    panel: str
    does: str
    module: str = ""
    extra: str = ""
    declared_as: str = ""


ONE_MACHINE, STORED, ASKING, JOBS = "One machine", "What is stored", "Ask", "Jobs and the fleet"
SERVING, MODELS, MEASURING = "Serve", "Models and indexes", "Measure"

COMMANDS: Final = {
    "up": CommandSummary(ONE_MACHINE, "start the embedded stack, its workers and the gateway", "stack"),
    "down": CommandSummary(ONE_MACHINE, "stop the embedded stack; its data stays", "stack"),
    "demo": CommandSummary(ONE_MACHINE, "load samples into a stack of its own, run every kind of job", "demo"),
    "doctor": CommandSummary(ONE_MACHINE, "check settings and services; name a fix for what fails", "stack"),
    "ingest": CommandSummary(STORED, "load documents, code, chats or histories of tools", "ingest"),
    "list": CommandSummary(STORED, "list the documents of a collection", "documents"),
    "show": CommandSummary(STORED, "show one document, or a page or message of it", "documents"),
    "export": CommandSummary(STORED, "write documents as JSON lines that can be ingested", "documents"),
    "drop": CommandSummary(STORED, "drop documents for good", "documents"),
    "collections": CommandSummary(STORED, "list the collections and the kinds that each holds", "documents"),
    "extend": CommandSummary(STORED, "add live messages to a session", "extend"),
    "ranks": CommandSummary(STORED, "rebuild or list the ranks of conversations", "ranks"),
    "search": CommandSummary(ASKING, "search a collection: live progress, then the hits", "search"),
    "batch": CommandSummary(ASKING, "ask many questions, as fast as the limits allow", "batch"),
    "chat": CommandSummary(ASKING, "talk about a collection: answers with citations", "chat"),
    "answer": CommandSummary(ASKING, "answer a question from hits of any source", "answer"),
    "rerank": CommandSummary(ASKING, "order hits of any source by relevance", "rerank"),
    "embed": CommandSummary(ASKING, "embed texts into a file or a table", "embed"),
    "jobs": CommandSummary(JOBS, "list the latest jobs, or those in one state", "jobs"),
    "job": CommandSummary(JOBS, "show, follow, cancel, replay or drop one job", "jobs"),
    "status": CommandSummary(JOBS, "show workers, queues, jobs and providers", "status"),
    "logs": CommandSummary(JOBS, "show what the parts of `querymill up` have logged", "logs"),
    "costs": CommandSummary(JOBS, "show what calls of models cost, by day, model, key or label", "costs"),
    "gateway": CommandSummary(SERVING, "serve HTTP and the console", "gateway"),
    "keys": CommandSummary(SERVING, "make, list, rotate and revoke keys; set budgets", "keys"),
    "mcp": CommandSummary(SERVING, "serve MCP on standard input and output", "mcp"),
    "worker": CommandSummary(SERVING, "run a worker", "machine"),
    "migrate": CommandSummary(SERVING, "bring the database to the newest schema", "machine"),
    "backup": CommandSummary(SERVING, "write all that is stored, and the jobs, into a folder", "backup"),
    "restore": CommandSummary(SERVING, "restore a backup into empty servers", "backup"),
    "reembed": CommandSummary(MODELS, "embed again after a change of EMBEDDING_MODEL", "upkeep"),
    "reindex": CommandSummary(MODELS, "rebuild a text index after a change of the tokeniser", "upkeep"),
    "calibrate": CommandSummary(MODELS, "fit the bands of similarity to a model", extra="eval"),
    "calibrate-files": CommandSummary(MODELS, "fit the weights of evidence of files", extra="eval"),
    "eval": CommandSummary(MEASURING, "measure a retriever on judged questions, or draft them", extra="eval"),
    "record": CommandSummary(MEASURING, "keep the searches of a day in a file", "", "eval", "eval"),
    "replay": CommandSummary(MEASURING, "ask recorded searches again, and compare", "", "eval", "eval"),
    "bench": CommandSummary(MEASURING, "run a benchmark", extra="eval"),
}

OPTIONS: Final = {
    "--version": "print the version and stop",
    "--install-completion": "install completion for the present shell",
    "--show-completion": "show completion for the present shell, to copy it or to adapt it",
    "--help": "show this and stop",
}


def help_text(is_terminal: bool) -> str:
    """Return the help; on a terminal, headings are bold."""
    before, after = ("\x1b[1m", "\x1b[0m") if is_terminal else ("", "")
    lines = ["Usage: querymill COMMAND [OPTION]… [ARGUMENT]…", "", ABOUT]
    for heading, rows in _sections():
        lines += ["", f"{before}{heading}{after}", *rows]
    lines += ["", "`querymill COMMAND --help` has the options of a command, and examples.", ""]
    return "\n".join(lines)


def _sections() -> Iterator[tuple[str, list[str]]]:
    for panel, found in groupby(COMMANDS.items(), key=lambda pair: pair[1].panel):
        yield panel, [_row(name, summary.does) for name, summary in found]
    others = sorted({entry.name for entry in entry_points(group=GROUP)} - COMMANDS.keys())
    if others:
        yield "Of other distributions", [_row(name, "") for name in others]
    yield "Options", [_row(name, does, width=20) for name, does in OPTIONS.items()]
    yield "First steps", [f"  {line}" for line in FIRST_STEPS]


def _row(name: str, does: str, *, width: int = 15) -> str:
    return f"  {name:<{width}}  {does}".rstrip()
