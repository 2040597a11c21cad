"""What the board's server raises while it is away: silent, starting, full, or not allowed to write.

Each error is one of the producers' `Unavailable`, and of the client library's, which tries again or gives up by kind.
Its text names no server: `detail` does.
"""

from typing import ClassVar, Final, NoReturn

import redis

from querymill_shared.contracts.errors import Unavailable

#: What is raised while the board is away. The same command may succeed later.
AWAY: Final = (redis.ConnectionError, redis.TimeoutError)
#: The first words of replies that refuse for now what they would do at another time, and what helps.
REFUSED_FOR_NOW: Final = {
    "MISCONF": "its server cannot write to its disk: make room there, then run BGREWRITEAOF on it (see the runbook)",
    "NOREPLICAS": "its server takes no writes without its replicas: start them",
    "MASTERDOWN": "its server is a replica that has lost its primary: start that",
    "READONLY": "its server is a replica: REDIS_URL must lead to the primary",
    "CLUSTERDOWN": "its cluster lacks a part: start that",
    "TRYAGAIN": "its cluster is moving keys: try again",
    "OOM": "its server has no memory left: raise maxmemory",
    "LOADING": "its server is starting: try again",
    "BUSY": "its server is held up by a script: try again",
}
_UNREACHABLE: Final = "does its server run, and is REDIS_URL right?"


class BoardAway(Unavailable):
    """Raised while the board is away. The text names no server; ``detail`` does, and says what helps."""

    said: ClassVar = "the job board cannot be reached just now; try again later"

    def __init__(self, detail: str) -> None:
        super().__init__(self.said, detail=detail)


class BoardUnavailable(BoardAway, redis.ConnectionError):
    """Raised when the board's server cannot be reached."""


class BoardRefuses(BoardUnavailable):
    """Raised when the board's server refuses for now what it would do at another time."""

    said = "the job board takes no jobs just now; try again later"


class BoardSilent(BoardAway, redis.TimeoutError):
    """Raised when the board's server does not answer in time."""


class BoardLocked(BoardAway, redis.AuthenticationError):
    """Raised when the board's server does not accept the password or the user."""

    said = "the job board does not accept this program"


def raise_explained(error: redis.RedisError) -> NoReturn:
    """Raise an error of the client library again: as `Unavailable`, with a remedy, if the board is away."""
    away = _away(error)
    if away is None:
        raise error
    raise away from error


def _away(error: redis.RedisError) -> Unavailable | None:
    said = str(error).rstrip(".")
    match error:
        case Unavailable():
            return None
        case redis.ResponseError():
            code = error.status_code or said.partition(" ")[0]
            remedy = REFUSED_FOR_NOW.get(code)
            # The library takes away the first words that it knows.
            reply = said if said.startswith(code) else f"{code} {said}"
            return None if remedy is None else BoardRefuses(f"board: {reply}; {remedy}")
        case redis.exceptions.BusyLoadingError():
            return BoardRefuses(f"board: {said}; {REFUSED_FOR_NOW['LOADING']}")
        case redis.AuthenticationError() | redis.exceptions.AuthorizationError():
            return BoardLocked(f"board: {said}; are the user and the password in REDIS_URL right?")
        case redis.ConnectionError():
            return BoardUnavailable(f"board: {said}; {_UNREACHABLE}")
        case redis.TimeoutError():
            return BoardSilent(f"board: {said}; {_UNREACHABLE}")
        case _:
            return None
