"""The scripts of the board, each with the functions of the prelude that it uses."""

import hashlib
import re
from functools import cache
from importlib import resources
from typing import Any, Final, TypeVar

from querymill_shared.board.calls import ScriptCall

T = TypeVar("T")

#: The files of the prelude. What one uses of another stands before it.
_PRELUDES: Final = ("written_over", "labels", "prelude", "trails")
_DEFINITION: Final = re.compile(r"^local (?:function )?(\w+)", re.MULTILINE)
_COMMENT: Final = re.compile(r"--.*")
#: Scripts that look for no key by themselves: a server of a cluster keeps them away from a slot that moves if need be.
_OF_NAMED_KEYS: Final = frozenset(
    ("accept_turn", "admit", "beat", "changed", "confirm", "decide", "doubt", "elect", "end_key", "forget",
     "forget_key", "keep", "report_backlog", "reserve", "resign", "there", "turn", "withdraw", "workers")
)  # fmt: skip
#: All others are not run while their slot moves. The client tries again.
_STAYS_AWAY: Final = """
if is_moving(string.match(KEYS[1], '^qm:{.-}')) then
  return redis.error_reply('TRYAGAIN the slot of ' .. KEYS[1] .. ' is moving')
end
"""


@cache
def source(script: str) -> str:
    """Return a script's Lua text, with what it uses of the prelude in front.

    A server runs all of a text at every call, and defining what is not used takes longer than most scripts do.
    """
    text = _read(script)
    return with_prelude(text if script in _OF_NAMED_KEYS else _STAYS_AWAY + text)


def with_prelude(text: str) -> str:
    """Return a script of the board's server with what it uses of the prelude in front."""
    # A definition can only use those before it.
    for name, definition in reversed(_definitions()):
        if re.search(rf"\b{name}\b", _COMMENT.sub("", text)):
            text = definition + text
    return text


@cache
def digest(script: str) -> str:
    """Return the name by which a server knows a script."""
    return hashlib.sha1(source(script).encode()).hexdigest()  # noqa: S324  # the server's choice


def command_of(call: ScriptCall[Any]) -> tuple[Any, ...]:
    """Return the command that runs a script."""
    return ("EVALSHA", digest(call.script), len(call.keys), *call.keys, *call.args)


def parsed(call: ScriptCall[T], reply: Any) -> T:
    """Read what a run returned, or raise what it was answered with."""
    if isinstance(reply, Exception):
        raise reply
    return call.parse(reply)


@cache
def _definitions() -> list[tuple[str, str]]:
    """Return the name and the text of each definition of the prelude, in their order."""
    prelude = "".join(map(_read, _PRELUDES))
    found = list(_DEFINITION.finditer(prelude))
    ends = [following.start() for following in found[1:]] + [len(prelude)]
    return [(match.group(1), prelude[match.start() : end]) for match, end in zip(found, ends, strict=True)]


def _read(name: str) -> str:
    return (resources.files("querymill_shared.board") / "lua" / f"{name}.lua").read_text()
