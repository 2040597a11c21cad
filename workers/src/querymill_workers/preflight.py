"""Refuse to start with services that could lose or mix up jobs, and say why and what to do."""

import structlog

from querymill_shared.board import ValkeyBoard
from querymill_shared.board.clock import MAX_APART_S
from querymill_shared.misplaced_broker import misplaced_broker
from querymill_shared.settings import Settings
from querymill_workers.lexicon import thesauri
from querymill_workers.postgres.migrate import SchemaMismatch, check, database_ahead_s

_log = structlog.get_logger(__name__)


class Unsafe(Exception):
    """Raised when jobs could be lost or mixed up. The message says what to do."""


def refuse_unsafe(settings: Settings, board: ValkeyBoard) -> None:
    """Check the board's server, the database and the lexicon.

    Raises:
        Unsafe: The board's server may evict keys, the database schema does not fit, or the lexicon cannot be read.
    """
    policy = board.server_setting("maxmemory-policy")
    if policy not in (None, "noeviction"):
        raise Unsafe(
            f"REDIS_URL: maxmemory-policy is {policy}, so a full server would drop jobs silently; set it to noeviction"
        )
    if board.server_setting("appendonly") == "no":
        _log.warning("REDIS_URL: appendonly is off: a restart of that server loses every open job")
    try:
        thesauri(settings.querymill_lexicon)
    except ValueError as error:
        raise Unsafe(str(error)) from error
    database_url = settings.database_url.get_secret_value()
    try:
        check(database_url, prepares=settings.querymill_prepared_statements)
    except SchemaMismatch as error:
        raise Unsafe(str(error)) from error
    warn_of_clocks(board.clock_ahead_s(), database_ahead_s(database_url))


def refuse_cluster_as_broker(settings: Settings) -> None:
    """Check, before Celery connects to it, that the broker is no cluster. One that does not answer is left to Celery.

    Raises:
        Unsafe: It is one.
    """
    if (misplaced := misplaced_broker(settings)) is not None:
        raise Unsafe(misplaced)


def warn_of_clocks(board_s: float, database_s: float) -> None:
    """Log which clocks differ too much, of those that are ahead of this process's by so many seconds."""
    for name, ahead_s in {"worker": -board_s, "PostgreSQL": database_s - board_s}.items():
        if abs(ahead_s) > MAX_APART_S:
            _log.warning("a clock differs from that of the board's server", clock=name, ahead_s=round(ahead_s, 1))
