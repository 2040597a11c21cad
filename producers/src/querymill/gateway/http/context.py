"""What every route of the gateway shares: the client, the keys, the limits, and whether the process is to stop."""

import asyncio
import hashlib
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final

import redis
from fastapi import Request

from querymill.client.board_transport import AsyncBoardTransport
from querymill.client.events.watch import Watch
from querymill.client.mill import AsyncQuerymill, Querymill
from querymill.gateway.http.budgets import BudgetKeeper
from querymill.gateway.http.problems import Problem, expired, no_collection, unavailable
from querymill.gateway.http.rate_limit import LEASE_S, RateLimiter
from querymill.gateway.http.shares import SharedPlaces
from querymill.keys import (
    LOOPBACK_CALLER,
    NOBODY,
    NONE_STORED,
    STORED_AT,
    USES_AT,
    ApiKey,
    Scope,
    are_required,
    parts_of,
)
from querymill_shared.board import AsyncValkeyBoard
from querymill_shared.board.away import AWAY
from querymill_shared.board.clock import read_clock_later
from querymill_shared.board.cluster import refuse_bells
from querymill_shared.board.connections import open_async_commands
from querymill_shared.board.jobs_of_batch import MAX_AHEAD_S
from querymill_shared.board.keys import CALLBACK_SECRETS, READY
from querymill_shared.board.replies import is_written_over
from querymill_shared.callback_secrets import CallbackSecrets
from querymill_shared.settings import Settings

#: Connections to the board for the commands of all requests of a process.
CONNECTIONS: Final = 8
#: A session of the console ends so many seconds after the sign-in, however busy it is.
SESSION_S: Final = 8 * 3_600
#: No shard's key: clients and workers write those, and only a gateway may write a session.
_SESSIONS: Final = "qm:console:"
_log = logging.getLogger(__name__)


class Mill(AsyncQuerymill):
    """The client, with its parts in the open."""

    def __init__(self, settings: Settings) -> None:
        transport = AsyncBoardTransport(settings, connections=CONNECTIONS)
        self._use(transport, in_threads=lambda: Querymill(settings=settings))
        self.board: AsyncValkeyBoard = transport.board
        self.watch: Watch = transport.watch


class Stopping(asyncio.Event):
    """Set once the process is about to stop. Who streams is called then."""

    def __init__(self) -> None:
        super().__init__()
        self._called: dict[int, Callable[[], None]] = {}

    def set(self) -> None:
        """Begin to stop."""
        super().set()
        for call in list(self._called.values()):
            call()

    @contextmanager
    def calling(self, call: Callable[[], None]) -> Iterator[None]:
        """Have a function called when the process begins to stop, or at once."""
        self._called[id(call)] = call
        try:
            if self.is_set():
                call()
            yield
        finally:
            del self._called[id(call)]


class GatewayContext:
    """What the routes of one gateway share.

    ``keys_required`` is True from the start, by the settings or by where it is served, or becomes True: when a key is
    found on the board, or when a request came through a proxy. It never becomes False: a board that lost its keys opens
    no door.
    """

    def __init__(self, settings: Settings, *, keys_required: bool) -> None:
        self.settings = settings
        self.mill = Mill(settings)
        self.keys_required = keys_required or are_required(settings)
        self._lacks_keys = False
        self.stopping = Stopping()
        self._rings_on_board = settings.broker_url == settings.redis_url
        self._client = open_async_commands(settings.redis_url, max_connections=CONNECTIONS)
        self.rate_limiter = RateLimiter(self._client)
        self.budgets = BudgetKeeper(self._client, settings.querymill_currency)
        self._places = SharedPlaces(settings.querymill_gateway_waiting)
        self._used: dict[str, int] = {}

    @property
    def waits(self) -> int:
        """How many requests wait or stream."""
        return self._places.taken

    async def close(self) -> None:
        """Close the connections."""
        await self.mill.close()
        await self._client.aclose()

    async def check_board(self) -> None:
        """Check that the board answers and takes writes, by a write that changes nothing, and that bells can be rung.

        Raises:
            Unavailable: It does not, or it is on a cluster, and no other broker is set.
        """
        if self._rings_on_board:
            refuse_bells(await self._client.its_cluster())
        await self._client.set(READY, "", xx=True)

    async def has_keys(self) -> bool:
        """Return whether the board has keys.

        Raises:
            redis.RedisError: The board does not answer.
        """
        count = int(await self._client.exists(STORED_AT))
        self._learn(count)
        return count > 0

    def require_keys(self, why: str) -> None:
        """Require keys from now on."""
        if not self.keys_required:
            self.keys_required = True
            _log.warning("API keys are required from now on: %s", why)

    def _learn(self, count: int) -> None:
        """Take note of how many keys the board has. That it lacks keys which are required is logged once."""
        self.keys_required = self.keys_required or count > 0
        lacks_keys = self.keys_required and not count
        if lacks_keys and not self._lacks_keys:
            _log.warning("every request is refused: %s", NONE_STORED)
        self._lacks_keys = lacks_keys

    async def now(self) -> float:
        """Return the time by the board's clock, in seconds since the epoch."""
        return await read_clock_later(self._client)

    async def remember(self, name: str, value: str, *, ttl_s: int) -> None:
        """Keep a value on the board for a while."""
        await self._client.set(name, value, ex=ttl_s)

    async def list_in(self, name: str, value: str, *, at: float, longest: int) -> None:
        """Put a value, with its time, on a list that is kept on the board and holds the latest ``longest``.

        The list is for people to read, and fails no request: one that another program wrote over begins again.
        """
        for _ in range(2):
            pipeline = self._client.pipeline(transaction=False)
            pipeline.zadd(name, {value: at})
            pipeline.zremrangebyscore(name, f"({at + MAX_AHEAD_S}", "+inf")
            pipeline.zremrangebyrank(name, 0, -longest - 1)
            if not is_written_over((await pipeline.execute(raise_on_error=False))[0]):
                return
            await self._client.delete(name)

    async def latest_in(self, name: str, *, limit: int) -> list[str]:
        """Return the values of a list that were put on it last, the latest first."""
        try:
            return [str(value) for value in await self._client.zrevrange(name, 0, limit - 1)]
        except redis.ResponseError as error:
            if not is_written_over(error):
                raise
            return []

    async def recall(self, name: str) -> str | None:
        """Return a value that was kept, or None if there is none, or one of another type that another program wrote."""
        try:
            kept = await self._client.get(name)
        except redis.ResponseError as error:
            if not is_written_over(error):
                raise
            return None
        return kept if isinstance(kept, str) else None

    async def key_of(self, written: str) -> ApiKey | None:
        """Return the key that is written so, None if it is not valid. "" stands for no key.

        Raises:
            Problem: It was valid until it expired.
        """
        key_id, secret = parts_of(written) or ("", "")
        pipeline = self._client.pipeline(transaction=False)
        pipeline.hget(STORED_AT, key_id)
        pipeline.hlen(STORED_AT)
        pipeline.time()
        stored, count, (seconds, _) = await pipeline.execute()
        self._learn(count)
        key, now = ApiKey.model_validate_json(stored) if stored else NOBODY, float(seconds)
        if not key.accepts(secret, now):
            if key.is_expired(now) and key.revoked is None and key.was(secret):
                raise expired(key.expires or now)
            return None
        await self._note_use(key, int(now // 60))
        return key.presented_by(secret)

    async def _note_use(self, key: ApiKey, minute: int) -> None:
        """Note on the board that a key was used in a minute, once a minute in each gateway."""
        if self._used.get(key.id) == minute:
            return
        self._used[key.id] = minute
        with suppress(*AWAY, redis.ResponseError):  # it is for people to read, and holds up no request
            await self._client.hset(USES_AT, key.id, str(minute))

    async def visitor_of(self, session: str) -> ApiKey | None:
        """Return the key whose secret began a session of the console, or None if there is none or the secret has ended.

        Without keys it is loopback's.
        """
        pipeline = self._client.pipeline(transaction=False)
        pipeline.get(_session_at(session))
        pipeline.hlen(STORED_AT)
        began_with, count = await pipeline.execute()
        self._learn(count)
        if not self.keys_required:
            return LOOPBACK_CALLER
        key_id, _, digest = (began_with or "").partition(" ")
        key = await self._stored(key_id)
        return key if key is not None and key.holds(digest, await self.now()) else None

    async def begin_session(self, key: ApiKey) -> str:
        """Begin a session of the console for a key, as it was presented. Return the session's secret.

        The board has a hash of it, and the digest of the key's secret: the session is over when that secret is.
        """
        session = secrets.token_urlsafe(32)
        await self.remember(_session_at(session), f"{key.id} {key.secrets[0].digest}", ttl_s=SESSION_S)
        return session

    async def end_session(self, session: str) -> None:
        """End a session of the console."""
        await self._client.delete(_session_at(session))

    async def is_valid(self, caller: ApiKey) -> bool:
        """Return whether a key that was valid still is. One that was rotated is, and so is any if the board is away."""
        if not caller.id:
            return not self.keys_required
        try:
            stored = await self._stored(caller.id)
        except AWAY:
            return True
        if stored is None or stored.revoked is not None:
            return False
        return stored.expires is None or not stored.is_expired(await self.now())

    async def _stored(self, key_id: str) -> ApiKey | None:
        stored = await self._client.hget(STORED_AT, key_id)
        return ApiKey.model_validate_json(stored) if isinstance(stored, str) else None

    async def signs_callbacks_of(self, caller: ApiKey) -> bool:
        """Return whether a secret signs the callbacks of a caller. Without keys it is that of the mill."""
        if not caller.id:
            return True
        stored = await self._client.hget(CALLBACK_SECRETS, caller.id)
        known = CallbackSecrets.model_validate_json(stored if isinstance(stored, str) else "{}")
        return bool(known.valid(await self.now()))

    @asynccontextmanager
    async def waiting(self, caller: ApiKey) -> AsyncIterator[None]:
        """Hold a place of the process and of the key while a request waits or streams.

        Raises:
            Problem: There is none.
        """
        if self.stopping.is_set():
            raise unavailable("the gateway is stopping")
        if not self._places.take(caller.id):
            raise unavailable("too many requests wait")
        try:
            place = await self.rate_limiter.take_place(caller)
            renewal = asyncio.create_task(self._renew(caller, place)) if place else None
            try:
                yield
            finally:
                if renewal is not None:
                    renewal.cancel()
                    # Then the place is free again when its lease ends, or another program wrote over all of them.
                    with suppress(*AWAY, redis.ResponseError):
                        await asyncio.shield(self.rate_limiter.leave(caller, place))
        finally:
            self._places.give_back(caller.id)

    async def _renew(self, caller: ApiKey, place: str) -> None:
        while True:
            await asyncio.sleep(LEASE_S / 3)
            with suppress(*AWAY, redis.ResponseError):
                await self.rate_limiter.renew(caller, place)


def _session_at(session: str) -> str:
    return _SESSIONS + hashlib.sha256(session.encode()).hexdigest()


def context_of(request: Request) -> GatewayContext:
    """Return what the routes of the application share."""
    context: GatewayContext = request.app.state.context
    return context


def caller_of(request: Request) -> ApiKey:
    """Return who calls."""
    caller: ApiKey = request.state.caller
    return caller


def need(caller: ApiKey, *scopes: Scope) -> None:
    """Check that a key has scopes.

    Raises:
        Problem: It lacks one.
    """
    for scope in sorted(scopes):
        if scope not in caller.scopes:
            raise Problem("forbidden", f"needs scope {scope.value}")


def need_sight(caller: ApiKey, collection: str) -> None:
    """Check that a key may see a collection.

    Raises:
        Problem: It may not. The answer is that for what does not exist.
    """
    if not caller.sees(collection):
        raise no_collection()
