"""How a tool call is shown as a message."""

import json
from typing import Any, Final

from querymill_histories.session import ToolCall, Tools

#: Arguments that say most about a call, the first that is there.
_TELLING: Final = (
    "command", "cmd", "file_path", "filePath", "absolute_path", "path", "pattern", "query", "url", "description",
    "prompt", "question", "code",
)  # fmt: skip
#: Characters of a call that is shown in a line.
SUMMARY_CHARS: Final = 200


def shown(call: ToolCall, tools: Tools) -> str:
    """Return the text of a tool call, "" if it is not shown.

    ``Bash`` with ``{"command": "ls -la"}`` becomes ``[Bash] ls -la``; in full, the result follows in lines of its own.
    """
    match tools:
        case "none":
            return ""
        case "summary":
            line = " ".join(f"[{call.name}] {_told(call.arguments)}".split())
            return line if len(line) <= SUMMARY_CHARS else f"{line[: SUMMARY_CHARS - 1]}…"
        case "full":
            return f"[{call.name}] {_written(call.arguments)}\n{call.result}".strip()


def _told(arguments: Any) -> str:
    arguments = _read(arguments)
    if isinstance(arguments, dict):
        telling = next((arguments[key] for key in _TELLING if arguments.get(key)), None)
        return _written(arguments if telling is None else telling)
    return _written(arguments)


def _read(arguments: Any) -> Any:
    """Read arguments that stand as JSON in a text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _written(arguments: Any) -> str:
    match arguments:
        case None:
            return ""
        case str():
            return arguments
        case list() if all(isinstance(part, str) for part in arguments):
            return " ".join(arguments)
    return json.dumps(arguments, ensure_ascii=False, default=str)
