"""``querymill up --join``: what the workers of a further host need, learned from the fleet or asked for."""

import socket
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import redis

from querymill.cli.exits import Unreachable, WrongUse
from querymill_shared.board.connections import open_commands
from querymill_shared.board.fleet_settings import SharedSetting, read_shared
from querymill_shared.board.lives import ALIVE_S, read_lives
from querymill_shared.contracts.errors import detail_of
from querymill_shared.secret_files import names_set
from querymill_shared.settings import Settings
from querymill_shared.urls import mask, read_address
from querymill_shared.values import value

#: Without this one, no worker starts.
_NEEDED: Final = "DATABASE_URL"
_LOOPBACK: Final = ("localhost", "127.", "::1")
#: All workers of a fleet need the same value of these.
_ALIKE: Final = ("EMBEDDING_MODEL", "QUERYMILL_EMBEDDING_DIMENSIONS")
_READY_WITHIN_S: Final = 120.0


@value
class Learned:
    """The settings that a host takes from a fleet, and those that it must be given, each with what is known of it."""

    taken: Mapping[str, str]
    asked: Mapping[str, str]


def learn(shared: Mapping[str, SharedSetting], given: Iterable[str], *, is_local: bool) -> Learned:
    """Say which settings of a fleet a host takes.

    ``given`` are those that it has. ``is_local`` says that the board is on the same host.
    """
    given = set(given)
    taken, asked = dict[str, str](), dict[str, str]()
    for name, setting in shared.items():
        if name in given:
            continue
        if setting.hides_a_secret:
            asked[name] = f"the fleet has {setting.shown}"
        elif not is_local and leads_home(setting.shown):
            asked[name] = f"the fleet has {setting.shown}, which leads to the host that it is read on"
        else:
            taken[name] = setting.shown
    if _NEEDED not in given | shared.keys():
        asked[_NEEDED] = "no worker of the fleet has said where the database is"
    return Learned(taken, asked)


def leads_home(text: str) -> bool:
    """Whether an address leads to the host on which it is read."""
    found = read_address(text)
    return found is not None and any(name.startswith((*_LOOPBACK, "/")) for name, _ in found.hosts)


def settings_to_join(url: str) -> dict[str, str]:
    """Return the settings that lead the programs of this host to the fleet of a board.

    Raises:
        WrongUse: A setting is missing, or is another than that of the fleet.
        Unreachable: The board does not answer.
    """
    board = _with_password(url)
    with open_commands(board) as client:
        try:
            shared = read_shared(client)
        except redis.RedisError as error:
            raise Unreachable(
                f"--join: {mask(board)}: {detail_of(error)}; give the address of the fleet's board"
            ) from error
    given = names_set({*shared, _NEEDED})
    learned = learn(shared, given, is_local=leads_home(board))
    if learned.asked:
        lines = "\n".join(f"  {name}: {known}" for name, known in sorted(learned.asked.items()))
        raise WrongUse(f"--join: set these as the workers of the fleet have them, or in files (NAME_FILE):\n{lines}")
    _refuse_others(shared, given)
    return {**learned.taken, "REDIS_URL": board}


def refuse_namesakes(url: str, names: Iterable[str]) -> None:
    """Check that no other host runs workers of the same names: each would take the other for its former life.

    Raises:
        WrongUse: One does.
    """
    own = {f"{name}@{socket.gethostname()}" for name in names}
    if taken := sorted(own & _alive(url)):
        raise WrongUse(
            f"--join: {', '.join(taken)} works in the fleet already; hosts need different names:"
            " change that of this host (hostnamectl), then run it again"
        )


def await_own_workers(url: str, names: Iterable[str], *, are_alive: Callable[[], bool]) -> None:
    """Return once the workers of this host work in the fleet.

    Raises:
        Unreachable: One does not.
    """
    own, until = {f"{name}@{socket.gethostname()}" for name in names}, time.monotonic() + _READY_WITHIN_S
    while missing := sorted(own - _alive(url)):
        if time.monotonic() > until or not are_alive():
            raise Unreachable(f"{', '.join(missing)} did not start; `querymill status --data FOLDER` names the logs")
        time.sleep(0.1)


def _alive(url: str) -> set[str]:
    """Return the names of the workers that listen."""
    with open_commands(url) as client:
        return {life.name for life in read_lives(client) if life.beat_age_s < ALIVE_S and life.queues}


def _with_password(url: str) -> str:
    """Return the address of a board. If REDIS_URL is the same one with a password, that: command lines are public.

    Raises:
        pydantic.ValidationError: It is none.
    """
    written, own = Settings(redis_url=url).redis_url, Settings().redis_url
    return own if _place(own) == _place(written) and "@" not in written else written


def _place(url: str) -> tuple[object, str] | str:
    found = read_address(url)
    return url if found is None else (found.hosts, found.path)


def _refuse_others(shared: Mapping[str, SharedSetting], given: Iterable[str]) -> None:
    own = Settings()
    for name in sorted(set(given) & set(_ALIKE) & shared.keys()):
        mine = str(getattr(own, name.lower()))
        if mine != shared[name].shown:
            raise WrongUse(f"{name}: is {mine} here and {shared[name].shown} in the fleet; unset it, or set it alike")
