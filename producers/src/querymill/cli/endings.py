"""The one place where the errors of commands become messages and exit codes."""

import re
import sys
from typing import Final, NoReturn

import pydantic
import redis

from querymill.cli.exits import Exit, Unreachable, WrongUse
from querymill.cli.terminal import Console
from querymill_shared.contracts.errors import JobEnded, Overloaded, QuerymillError, Unavailable, detail_of, rule_text
from querymill_shared.secret_files import UnreadableSetting
from querymill_shared.settings import Settings
from querymill_shared.urls import mask_text

#: How servers say that the rights of a user do not suffice, wherever in a reply, such as that of a script.
_MAY_NOT: Final = re.compile(
    r"(?:User \S+ has n|N)o permissions to (?:run the '\S+' command|access [\w ]*\w)", re.IGNORECASE
)
_WHOSE_ADDRESS: Final = (
    "use the address of the user `worker` for status, doctor, backup and restore, of `keeper` for keys,"
    " of `producer` for everything else"
)


def rules_broken(error: pydantic.ValidationError) -> list[str]:
    """Say, field by field, which rule was broken; settings are named as in the environment.

    Of a search of one of several kinds, fields are named without the kind, which stands in the command.
    """
    above = 1 if error.title.startswith("tagged-union") else 0
    places = [".".join(map(str, entry["loc"][above:])) or "request" for entry in error.errors()]
    named = [place.upper() if error.title == Settings.__name__ else place for place in places]
    return [f"{place}: {rule_text(entry)}" for place, entry in zip(named, error.errors(), strict=True)]


def explain_denial(error: redis.ResponseError) -> str:
    """Return what the user of REDIS_URL may not do, and whose address helps.

    Raises:
        redis.ResponseError: The error is of another kind.
    """
    said = _MAY_NOT.search(str(error))
    if said is None:
        raise error
    return f"REDIS_URL: {said[0]}; {_WHOSE_ADDRESS}"


def end(error: Exception) -> NoReturn:
    """End a command that raised an error: a message on stderr, and an exit code. What is no error of ours is raised."""
    match error:
        case pydantic.ValidationError():
            _exit(Exit.WRONG_USE, "\n".join(rules_broken(error)))
        case JobEnded() | Overloaded() | TimeoutError():
            _exit(Exit.FAILED, detail_of(error))
        case Unreachable():
            _exit(Exit.UNREACHABLE, str(error))
        case Unavailable() | redis.ConnectionError() | redis.TimeoutError():
            mend = "`querymill up` prints the exports that lead to its stack; see `querymill doctor`"
            _exit(Exit.UNREACHABLE, f"{detail_of(error)} ({mend})")
        case redis.ResponseError():
            _exit(Exit.UNREACHABLE, explain_denial(error))
        case QuerymillError() | UnreadableSetting() | WrongUse():
            _exit(Exit.WRONG_USE, detail_of(error))
        case _:
            raise error


def _exit(code: Exit, said: str) -> NoReturn:
    console = Console(stderr=True, soft_wrap=True)
    console.print(mask_text(said), style="red")
    sys.exit(code)
