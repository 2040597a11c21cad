"""The model of the keys does what a real server does: on chance commands, and under the board's own scripts."""

import platform
import re
import time
from collections.abc import Sequence
from typing import Any, Final, TypeVar

import hiredis
import lupa.lua51
import lupa.luajit21
import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from querymill_shared.board import Outcome, ValkeyBoard, Verdict, lives, scripts
from querymill_shared.board.calls import ScriptCall
from querymill_shared.board.connections import run_command
from querymill_shared.board.keys import SHARDS
from querymill_shared.board.scripts import command_of
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import PLAIN, SubmitOptions
from querymill_shared.settings import Settings
from tests.fixtures.boards import new_board
from tests.simulation.server import new_model, read_commands, script_names

T = TypeVar("T")

KEYS: Final = st.sampled_from(("qm:{a}:one", "qm:{a}:two", "qm:{a}:job"))
NAMES: Final = st.sampled_from(("x", "y", "z", "10"))
NUMBERS: Final = st.sampled_from(("0", "1", "-1", "2.5", "10", "1e3", "-inf", "7"))
PLACES: Final = st.sampled_from(("0", "1", "-1", "-2", "3"))


def _of(name: str, *parts: Any) -> Any:
    return st.tuples(st.just(name), *(part if isinstance(part, st.SearchStrategy) else st.just(part) for part in parts))


COMMANDS: Final = st.one_of(
    _of("SET", KEYS, NAMES), _of("SET", KEYS, NAMES, "PX", "100000"), _of("SET", KEYS, NAMES, "KEEPTTL"),
    _of("GET", KEYS), _of("SET", KEYS, NAMES, "XX"), _of("STRLEN", KEYS), _of("EXISTS", KEYS, KEYS),
    _of("DEL", KEYS, KEYS), _of("TYPE", KEYS), _of("RENAME", KEYS, KEYS),
    _of("PEXPIRE", KEYS, "200000"), _of("PEXPIRE", KEYS, "0"), _of("PTTL", KEYS), _of("PERSIST", KEYS),
    _of("HSET", KEYS, NAMES, NAMES, NAMES, NAMES), _of("HSETNX", KEYS, NAMES, NAMES), _of("HGET", KEYS, NAMES),
    _of("HMGET", KEYS, NAMES, NAMES), _of("HDEL", KEYS, NAMES), _of("HEXISTS", KEYS, NAMES),
    _of("HINCRBY", KEYS, NAMES, "3"),
    _of("HKEYS", KEYS), _of("HVALS", KEYS), _of("HGETALL", KEYS), _of("HLEN", KEYS),
    _of("SADD", KEYS, NAMES, NAMES), _of("SREM", KEYS, NAMES), _of("SMEMBERS", KEYS), _of("SCARD", KEYS),
    _of("SISMEMBER", KEYS, NAMES),
    _of("LPUSH", KEYS, NAMES, NAMES), _of("RPUSH", KEYS, NAMES), _of("LLEN", KEYS), _of("LRANGE", KEYS, PLACES, PLACES),
    _of("LREM", KEYS, PLACES, NAMES), _of("RPOP", KEYS, "2"), _of("RPOP", KEYS),
    _of("ZADD", KEYS, NUMBERS, NAMES), _of("ZADD", KEYS, "NX", NUMBERS, NAMES), _of("ZINCRBY", KEYS, "2", NAMES),
    _of("ZREM", KEYS, NAMES), _of("ZCARD", KEYS), _of("ZSCORE", KEYS, NAMES), _of("ZRANGE", KEYS, PLACES, PLACES),
    _of("ZRANGE", KEYS, PLACES, PLACES, "WITHSCORES"), _of("ZREVRANGE", KEYS, "0", "1", "WITHSCORES"),
    _of("ZRANGEBYSCORE", KEYS, NUMBERS, NUMBERS), _of("ZRANGEBYSCORE", KEYS, "-inf", NUMBERS, "LIMIT", "0", "1"),
    _of("ZREVRANGEBYSCORE", KEYS, NUMBERS, "-inf", "LIMIT", "0", "2"), _of("ZCOUNT", KEYS, "(1", NUMBERS),
    _of("ZREMRANGEBYSCORE", KEYS, "-inf", NUMBERS), _of("ZREMRANGEBYRANK", KEYS, PLACES, PLACES),
    _of("XADD", KEYS, "*", "type", NAMES), _of("XADD", KEYS, "MAXLEN", "2", "*", "type", NAMES), _of("XLEN", KEYS),
    _of("XRANGE", KEYS, "-", "+"), _of("XRANGE", KEYS, "-", "+", "COUNT", "1"),
    _of("XREVRANGE", KEYS, "+", "-", "COUNT", "1"),
    _of("XTRIM", KEYS, "MAXLEN", "1"), _of("XREAD", "COUNT", "2", "STREAMS", KEYS, "0-0"),
)  # fmt: skip
#: What tells in which order a hash or a set is kept, which no server promises.
_UNORDERED: Final = ("HKEYS", "HVALS", "SMEMBERS", "HGETALL")


class Model:
    """The model of the keys, asked as a server is, with the time of this machine."""

    def __init__(self, kind: Any) -> None:
        self._model = new_model(kind)
        for name in script_names():
            self.load(scripts.source(name), scripts.digest(name))

    def load(self, source: str, digest: str) -> None:
        self._model[b"load"](digest.encode(), source.encode())

    def empty(self) -> None:
        self._model[b"empty"]()

    def ask(self, *command: Any) -> Any:
        reader = hiredis.Reader(encoding="utf-8")
        (parts,) = read_commands(hiredis.pack_command(command))
        reader.feed(self._model[b"run"](time.time_ns() // 1000, *parts)[0])
        return reader.gets()


@pytest.fixture(scope="module", params=[lupa.lua51, lupa.luajit21], ids=["as the server", "fast"])
def model(request: pytest.FixtureRequest) -> Model:
    return Model(request.param)


@pytest.fixture(scope="module")
def real() -> redis.Redis:
    return new_board()._client


@given(commands=st.lists(COMMANDS, min_size=1, max_size=25))
def test_it_replies_as_a_server(commands: Sequence[tuple[str, ...]], model: Model, real: redis.Redis) -> None:
    model.empty()
    real.flushdb()
    for command in commands:
        assert _shown(command, model.ask(*command)) == _shown(command, _asked(real, command)), (command, commands)


def _asked(real: redis.Redis, command: tuple[str, ...]) -> Any:
    try:
        return run_command(real, command)
    except redis.ResponseError as error:
        return error


def _shown(command: tuple[str, ...], reply: Any) -> Any:
    """Return what a reply says, in the form of version 2 of the protocol, without moments."""
    if isinstance(reply, Exception):
        return "WRONGTYPE" if "WRONGTYPE" in str(reply) or "wrong kind" in str(reply) else "refused"
    if command[0] == "PTTL" and reply > 0:
        return round(reply / 50_000)
    if command[0] == "XREAD" and isinstance(reply, dict):  # a list of pairs in version 2
        reply = [list(pair) for pair in reply.items()]
    flat = _flat(reply)
    if command[0] == "HGETALL":
        flat = [flat[place : place + 2] for place in range(0, len(flat), 2)]
    return sorted(flat) if command[0] in _UNORDERED else flat


def _flat(reply: Any) -> Any:
    """Return maps and pairs as the lists that they are in version 2, and each id of a stream as one."""
    match reply:
        case dict():
            return [part for pair in reply.items() for part in _flat(list(pair))]
        case list() if reply and all(
            isinstance(part, list) and len(part) == 2 and isinstance(part[1], float) for part in reply
        ):
            return [part for pair in reply for part in _flat(pair)]
        case list():
            return [_flat(part) for part in reply]
        case float():
            return _number(str(reply))
        case str() if re.fullmatch(r"\d{13}-\d+", reply):
            return "id"
        case str():
            return _number(reply)
        case _:
            return reply


def _number(text: str) -> str:
    try:
        return format(float(text), "g")
    except ValueError:
        return text


@pytest.mark.parametrize(
    "value",
    [
        "{a = 1, b = {1, 2.5, 'x'}, c = true}", "{}", "'/\\\\\"\\n\\127\\1 é'", "{1, 2, {x = cjson.null}}", "1e15",
        "123456.789",
    ],
)  # fmt: skip
def test_it_writes_and_reads_json_as_a_server(value: str, model: Model, real: redis.Redis) -> None:
    program = f"return cjson.encode(cjson.decode(cjson.encode({{x = {value}}})).x)"
    model.load(program, program)
    written, expected = model.ask("EVALSHA", program, 0), real.eval(program, 0)
    assert sorted(written) == sorted(str(expected))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the processor says what a number beyond 64 bits becomes")
@pytest.mark.parametrize("number", ["1/0", "-1/0", "0/0", "1e300", "-1e300", "2^63", "2^62", "-2^63", "-1.5", "1.5"])
def test_a_number_that_a_script_returns_is_that_of_a_server(number: str, model: Model, real: redis.Redis) -> None:
    program = f"return {{{number}}}"
    model.load(program, program)
    assert model.ask("EVALSHA", program, 0) == real.eval(program, 0)


class ModelBoard(ValkeyBoard):
    """A board on the model of the keys."""

    def __init__(self, model: Model, settings: Settings) -> None:
        super().__init__(redis.Redis(), settings)
        self._model = model

    @override
    def _run(self, call: ScriptCall[T]) -> T:
        reply = self._model.ask(*command_of(call))
        if isinstance(reply, Exception):
            raise reply
        return call.parse(reply)

    @override
    def _run_all(self, asked: Sequence[ScriptCall[Any]]) -> list[Any]:
        return [self._run(call) for call in asked]


ASKED: Final = (
    EmbedTexts.model_validate({"collection": "c", "texts": [{"id": "t", "text": "a"}]}),
    ReportSearch.model_validate({"collection": "c", "query": "q", "deadline": 30, "hyde": True}),
)
STEPS: Final = st.sampled_from(("embed", "original", "hyde"))
CALLS: Final = st.lists(
    st.tuples(
        st.sampled_from((
            "submit", "keyed", "claim", "finish", "postpone", "extend", "tell", "settle", "cancel", "die", "add",
        )),
        st.integers(0, 3), STEPS,
    ),
    min_size=3, max_size=25,
)  # fmt: skip


class Caller:
    """Makes the same calls on one board, and notes what comes back, without ids and moments."""

    def __init__(self, board: ValkeyBoard) -> None:
        self._board = board
        self._jobs: list[str] = []
        self._held: list[Any] = []

    def call(self, what: str, number: int, step: str) -> Any:
        if what in ("submit", "keyed"):
            options = SubmitOptions(idempotency_key=f"key{number % 2}") if what == "keyed" else PLAIN
            job_id, starts = self._board.submit(ASKED[number % 2], options)
            self._jobs += [] if job_id in self._jobs else [job_id]
            return self._jobs.index(job_id), starts
        if not self._jobs:
            return None
        job_id = self._jobs[number % len(self._jobs)]
        return getattr(self, f"_{what}")(job_id, step)

    def _claim(self, job_id: str, step: str) -> Any:
        claims = self._board.claim_steps(job_id, step, life="w", limit=2)
        self._held += claims.held
        return [(held.step, held.attempt, held.counts) for held in claims.held], claims.left

    def _finish(self, job_id: str, step: str) -> Any:
        return [self._picture(self._board.finish(held, Outcome(notes={"x": 1}))) for held in self._of(job_id, step)]

    def _postpone(self, job_id: str, step: str) -> Any:
        return [self._board.postpone(held, delay_s=0, reason="r", cause="outage") for held in self._of(job_id, step)]

    def _extend(self, job_id: str, step: str) -> Any:
        return [self._board.extend(held) for held in self._of(job_id, step)]

    def _tell(self, job_id: str, step: str) -> Any:
        return self._board.append_event(job_id, Progress(stage=step, done=1, total=2))

    def _settle(self, job_id: str, step: str) -> Any:
        return self._board.settle(job_id, Verdict("done", result='{"x":1}')), self.shown(job_id)

    def _cancel(self, job_id: str, step: str) -> Any:
        return self._board.settle(job_id, Verdict("cancelled")), self.shown(job_id)

    def _die(self, job_id: str, step: str) -> Any:
        found = self._board._run_all([lives.release_life(shard, "w", planned=False) for shard in SHARDS])
        return sorted((self._jobs.index(job), name) for of_shard in found for job, name in of_shard)

    def _add(self, job_id: str, step: str) -> Any:
        return self._board.add_steps(job_id, ["more"])

    def _of(self, job_id: str, step: str) -> list[Any]:
        return [held for held in self._held if held.job_id == job_id and held.step == step]

    def shown(self, job_id: str) -> Any:
        return self._picture(self._board.picture(job_id)), self._board.result(job_id)

    def _picture(self, picture: Any) -> Any:
        if picture is None:
            return None
        steps = [(step.name, step.state, step.attempt, step.counts) for step in picture.steps]
        return picture.record.state, picture.record.open_steps, steps

    def all_shown(self) -> Any:
        return [self.shown(job_id) for job_id in self._jobs]


@given(calls=CALLS)
def test_the_scripts_do_the_same_on_it(calls: Sequence[tuple[str, int, str]], model: Model) -> None:
    model.empty()
    settings = Settings()
    on_model, on_server = Caller(ModelBoard(model, settings)), Caller(new_board(settings))
    for call in calls:
        assert on_model.call(*call) == on_server.call(*call), (call, calls)
    assert on_model.all_shown() == on_server.all_shown()
