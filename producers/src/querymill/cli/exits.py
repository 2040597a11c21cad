"""Exit codes, and the one place where errors become words and codes."""

import sys
from collections.abc import Callable
from enum import IntEnum

import pydantic
import redis
from rich.console import Console

from querymill_shared.contracts.errors import JobEnded, QuerymillError


class Exit(IntEnum):
    """What the shell sees."""

    DONE = 0
    FAILED = 1
    WRONG_USE = 2
    UNREACHABLE = 3


class WrongUse(Exception):
    """The command was given something it cannot use; the message names it and the rule."""


class Unreachable(Exception):
    """A service does not answer; the message names it and the mend."""


def rules_broken(error: pydantic.ValidationError) -> list[str]:
    """Say, field by field, which rule was broken."""
    return [f"{'.'.join(map(str, entry['loc'])) or 'request'}: {entry['msg']}" for entry in error.errors()]


def guarded(run: Callable[[], object]) -> None:
    """Run a command; turn what it raises into a message on stderr and an exit code."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    try:
        run()
    except pydantic.ValidationError as error:
        console.print("\n".join(rules_broken(error)), style="red", markup=False)
        sys.exit(Exit.WRONG_USE)
    except (JobEnded, TimeoutError) as error:
        console.print(str(error), style="red", markup=False)
        sys.exit(Exit.FAILED)
    except (QuerymillError, WrongUse) as error:
        console.print(str(error), style="red", markup=False)
        sys.exit(Exit.WRONG_USE)
    except (redis.ConnectionError, redis.TimeoutError, Unreachable) as error:
        mend = "" if isinstance(error, Unreachable) else " (REDIS_URL; is the stack up? see `querymill doctor`)"
        console.print(f"{error}{mend}", style="red", markup=False)
        sys.exit(Exit.UNREACHABLE)
    except KeyboardInterrupt:
        sys.exit(130)
