"""Exit codes, and the one place where errors become messages and codes."""

import re
import sys
from collections.abc import Callable
from enum import IntEnum
from typing import Final, NoReturn

import pydantic
import redis

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


class Exit(IntEnum):
    """What the shell sees."""

    DONE = 0
    FAILED = 1
    WRONG_USE = 2
    UNREACHABLE = 3


class WrongUse(Exception):
    """Raised when a command cannot use what it was given; the message names the field and the rule."""


class Unreachable(Exception):
    """Raised when a service does not answer; the message names it and the remedy."""


def why_unusable(error: OSError) -> str:
    """Say of a file why it cannot be used: "results.jsonl: no such file"."""
    reason = "no such file" if isinstance(error, FileNotFoundError) else (error.strerror or str(error)).lower()
    return reason if error.filename is None else f"{error.filename}: {reason}"


def rules_broken(error: pydantic.ValidationError) -> list[str]:
    """Say, field by field, which rule was broken; settings are named as in the environment."""
    places = [".".join(map(str, entry["loc"])) or "request" for entry in error.errors()]
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


def guarded(run: Callable[[], object]) -> None:
    """Run a command; turn what it raises into a message on stderr and an exit code."""
    try:
        run()
    except pydantic.ValidationError as error:
        _exit(Exit.WRONG_USE, "\n".join(rules_broken(error)))
    except (JobEnded, Overloaded, TimeoutError) as error:
        _exit(Exit.FAILED, detail_of(error))
    except Unreachable as error:
        _exit(Exit.UNREACHABLE, str(error))
    except (Unavailable, redis.ConnectionError, redis.TimeoutError) as error:
        mend = "`querymill up` prints the exports that lead to its stack; see `querymill doctor`"
        _exit(Exit.UNREACHABLE, f"{detail_of(error)} ({mend})")
    except redis.ResponseError as error:
        _exit(Exit.UNREACHABLE, explain_denial(error))
    except (QuerymillError, UnreadableSetting, WrongUse) as error:
        _exit(Exit.WRONG_USE, detail_of(error))
    except KeyboardInterrupt:
        sys.exit(130)


def _exit(code: Exit, said: str) -> NoReturn:
    console = Console(stderr=True, soft_wrap=True)
    console.print(mask_text(said), style="red")
    sys.exit(code)
