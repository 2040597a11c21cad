"""The users of `deploy/valkey/users.acl` on a real server: each role works with its own, and may do nothing else."""

import asyncio
import hashlib
import io
import json
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis

from querymill import AsyncQuerymill, JobCancelled, Querymill, ReportResult, ReportSearch
from querymill.cli.demo import DemoResults, sample_folder, show_everything
from querymill.cli.sample import COLLECTION
from querymill.cli.terminal import Console
from querymill.keys import Keyring, Scope
from querymill_embedded import free_ports
from querymill_embedded.wheels import valkey_server
from querymill_shared.board import ValkeyBoard, Verdict
from querymill_shared.doorbell import Doorbell
from querymill_shared.settings import Settings
from tests.fakes.openai_server import OpenAIServer, chat_answer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.command_line import NO_MODELS, CommandLine
from tests.fixtures.deployment import Deployment, finish_embedding
from tests.fixtures.gateways import GatewayHere, ask, running_gateway
from tests.fixtures.short_forms import all_at_night

FILE = Path(__file__).parents[2] / "deploy" / "valkey" / "users.acl"
NOBODYS = "#" + "0" * 64
#: Nobody listens there.
NO_BROKER = "redis://127.0.0.1:1/0"
ROLES = ("producer", "gateway", "worker", "keeper")

#: A caller that cancels a job may not store it smaller, as a worker does: RESTORE reads the server's own format.
WITHHELD = {(role, "command", "dump") for role in ("producer", "gateway")}


def password(role: str) -> str:
    return f"the password of the {role}".replace(" ", "-")


class Server:
    """A Valkey with the users of the file, and one for the test to look around with."""

    def __init__(self, folder: Path) -> None:
        self.port = free_ports(["valkey"], preferred={})["valkey"]
        users = folder / "users.acl"
        users.write_text(with_passwords(FILE.read_text(encoding="utf-8")) + "user tester on nopass ~* &* +@all\n")
        options = {"bind": "127.0.0.1", "port": str(self.port), "save": "", "aclfile": str(users), "dir": str(folder)}
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen([str(valkey_server()), *words], stdout=quiet, stderr=quiet)
        #: What the demo showed when it ran here, and what it printed.
        self.demo: tuple[DemoResults, str] | None = None
        self.tester = redis.Redis(port=self.port, username="tester", password="", decode_responses=True)

    def await_ready(self) -> None:
        deadline = time.monotonic() + 20
        while True:
            try:
                self.tester.ping()
            except redis.ConnectionError:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            else:
                return

    def url(self, role: str) -> str:
        return f"redis://{role}:{password(role)}@127.0.0.1:{self.port}/0"

    def client(self, role: str) -> redis.Redis:
        return redis.Redis.from_url(self.url(role), decode_responses=True)

    def refused(self) -> set[tuple[str, str, str]]:
        """Who was refused what since the last call: user, reason, command or key; but for what is withheld."""
        log: Any = self.tester.acl_log()
        self.tester.acl_log_reset()
        return {(entry["username"], entry["reason"], entry["object"]) for entry in log} - WITHHELD


def with_passwords(text: str) -> str:
    lines = []
    for line in text.splitlines():
        role = line.split()[1]
        lines.append(line.replace(NOBODYS, "#" + hashlib.sha256(password(role).encode()).hexdigest()))
    return "\n".join([*lines, ""])


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as folder:
        running = Server(Path(folder))
        try:
            running.await_ready()
            yield running
        finally:
            running.tester.close()
            running.process.kill()
            running.process.wait()


def of_role(deployment: Deployment, server: Server, role: str) -> Deployment:
    environment = deployment.environment | {"REDIS_URL": server.url(role)}
    fields = {name.lower(): value for name, value in environment.items()}
    return Deployment(Settings.model_validate(fields), environment)


@pytest.fixture(scope="module")
def working(deployment: Deployment, server: Server) -> Iterator[WorkerProcess]:
    with WorkerProcess(of_role(deployment, server, "worker").environment) as process:
        yield process


@pytest.fixture
def producer(deployment: Deployment, server: Server) -> Iterator[Querymill]:
    with Querymill(settings=of_role(deployment, server, "producer").settings) as mill:
        yield mill


@pytest.fixture
def samples(server: Server, working: WorkerProcess, producer: Querymill, openai_server: OpenAIServer) -> str:
    """The samples of the demo, ingested and searched by a producer and a worker under the users of the file."""
    if server.demo is None:
        printed = io.StringIO()
        shown = show_everything(producer, sample_folder(), Console(file=printed, width=160))
        server.demo = (shown, printed.getvalue())
        finish_embedding(producer)
    return COLLECTION


def search(query: str = "how did revenue develop", **fields: Any) -> ReportSearch:
    return ReportSearch.model_validate({"query": query, "collection": COLLECTION, "deadline": 20} | fields)


def test_the_file_as_it_is_lets_nobody_in() -> None:
    first, *others = FILE.read_text(encoding="utf-8").splitlines()
    assert first == "user default off"
    assert [line.split()[1] for line in others] == list(ROLES)
    assert all(f" on {NOBODYS} " in line for line in others)


@pytest.mark.nightly
def test_every_step_of_the_demo_is_shown_and_finds_something(server: Server, samples: str) -> None:
    """The demo is tried here, where it shows at the same time that jobs of every kind may do what they must."""
    assert server.refused() == set()
    assert server.demo is not None
    shown, printed = server.demo
    assert re.findall(r"^(\d+)\. ", printed, re.MULTILINE) == [str(number) for number in range(2, 11)]
    assert {type(result).__name__ for result in (*shown.reports, *shown.others)} == {
        "ReportResult", "ModuleResult", "MessageResult", "ConversationResult", "FileResult", "RerankResult",
        "EmbedResult", "SearchResult",
    }  # fmt: skip
    assert "of the chat before it, also searched: What was the TCE of HVSN's product tankers in 2022?" in printed
    assert "messages/demo: " in printed
    assert all(result.results for result in shown.reports)
    assert "kombu/transport/virtual/base.py" in printed


def test_a_producer_waits_watches_cancels_repeats_and_lists(
    server: Server, samples: str, producer: Querymill, openai_server: OpenAIServer, deployment: Deployment
) -> None:
    job = producer.submit(search(), idempotency_key="once")
    assert [event.type for event in job.events()][-1] == "done"
    assert producer.submit(search(), idempotency_key="once").id == job.id
    openai_server.script.chat = lambda request: chat_answer("| slow | 1 |", after_s=3)
    slow = producer.submit(search("a slow one", hyde=True))
    slow.cancel()
    with pytest.raises(JobCancelled):
        slow.result(timeout=10)
    with closing(ValkeyBoard.connect(of_role(deployment, server, "producer").settings)) as board:
        unheard, _ = board.submit(search("a job without a bell"))
    assert producer.job(unheard).result(timeout=20).results
    assert len(producer.recent()) > 3
    assert server.refused() == set()


@pytest.mark.parametrize("role", ["producer", "gateway", "worker"])
def test_whoever_rings_rings_on_the_board_while_the_broker_is_away(
    server: Server, deployment: Deployment, role: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = of_role(deployment, server, role).settings.model_copy(update={"celery_broker_url": NO_BROKER})
    with closing(Doorbell.connect(settings)) as doorbell:
        doorbell.ring("0" * 32, search(hyde=True))
    assert "its bell is not rung yet" not in caplog.text
    assert server.refused() == set()


def test_a_search_through_a_gateway_is_answered_while_the_broker_is_away(
    server: Server, samples: str, deployment: Deployment
) -> None:
    away = {"CELERY_BROKER_URL": NO_BROKER}
    with running_gateway(of_role(deployment, server, "gateway").environment | away) as url:
        status, found, _ = ask(f"{url}/v1/jobs?wait=10", {"kind": "reports", "query": "which", "collection": samples})
        assert (status, found["complete"]) == (200, True)
    assert server.refused() == set()


def test_an_asynchronous_producer_watches_and_waits(server: Server, samples: str, deployment: Deployment) -> None:
    async def watched() -> tuple[list[str], ReportResult]:
        async with AsyncQuerymill(settings=of_role(deployment, server, "producer").settings) as mill:
            job = await mill.submit(search("how many ships"))
            return [event.type async for event in job.events()], await job.result(timeout=20)

    types, result = asyncio.run(watched())
    assert types[-1] == "done"
    assert result.complete
    assert server.refused() == set()


def test_a_gateway_searches_and_serves_the_figures_of_the_fleet(
    server: Server, samples: str, deployment: Deployment
) -> None:
    with running_gateway(of_role(deployment, server, "gateway").environment) as url:
        assert ask(f"{url}/readyz")[0] == 200
        assert "querymill_budget_pauses_total" in ask(f"{url}/metrics")[1]
        asked = {"query": "which harbour", "collection": samples, "deadline": 10}
        status, found, _ = ask(f"{url}/api/chat/vectors", asked)
        assert (status, found["state"]) == (200, "done")
    assert server.refused() == set()


def test_a_keeper_makes_keys_and_a_gateway_asks_for_them(server: Server, deployment: Deployment) -> None:
    keeping = CommandLine(of_role(deployment, server, "keeper").environment)
    made = json.loads(keeping("keys", "add", "web", "--collection", "*", "--rate", "60", "--json").stdout)
    with (
        GatewayHere(of_role(deployment, server, "gateway").settings) as gateway,
        httpx.Client(base_url=gateway.url, headers={"Authorization": f"Bearer {made['key']}"}) as http,
    ):
        assert http.get("/v1/jobs").status_code == 200
        assert httpx.get(f"{gateway.url}/v1/jobs").status_code == 401
    (listed,) = json.loads(keeping("keys", "list", "--json").stdout)
    assert (listed["id"], listed["last_used"] is None) == (made["id"], False)
    assert keeping("keys", "revoke", made["id"]).returncode == 0
    server.tester.delete("qm:keys")
    assert server.refused() == set()


@pytest.mark.parametrize(
    ("role", "command"),
    [
        ("keeper", ("status",)),
        pytest.param("keeper", ("doctor", "--json"), marks=pytest.mark.nightly),
        ("worker", ("keys", "list")),
    ],
)
def test_an_operator_with_the_address_of_another_role_is_told_whose_to_use(
    server: Server, deployment: Deployment, role: str, command: tuple[str, ...]
) -> None:
    run = CommandLine(of_role(deployment, server, role).environment | NO_MODELS)(*command)
    assert run.returncode == 3
    (line,) = run.stderr.splitlines() or [
        finding["mend"] for finding in json.loads(run.stdout) if finding["name"] == "board"
    ]
    # Whether a server names the user depends on its version, and on what is forbidden.
    assert re.match(rf"REDIS_URL: (User {role} has n|N)o permissions to ", line)
    # The passwords of this file hold the word "the", which the doctor masks.
    assert re.search(r"use \S+ address of \S+ user `worker` for status", line)
    server.tester.acl_log_reset()


def test_a_status_says_that_the_board_refuses_a_password(server: Server, deployment: Deployment) -> None:
    environment = of_role(deployment, server, "worker").environment
    wrong = environment["REDIS_URL"].replace(password("worker"), "another")
    run = CommandLine(environment | {"REDIS_URL": wrong})("status")
    assert run.returncode == 3
    assert "does not answer" not in run.stderr
    assert "invalid username-password pair" in run.stderr
    assert "are the user and the password in REDIS_URL right?" in run.stderr
    server.tester.acl_log_reset()


def test_nobody_forges_a_session_of_the_console_and_a_gateway_keeps_them(
    server: Server, deployment: Deployment
) -> None:
    ring = Keyring(server.client("keeper"))
    key, written = ring.add("boss", scopes=list(Scope), collections=["*"], requests_per_minute=60, concurrency=2)
    secret = "made up"
    digest = hashlib.sha256(secret.encode()).hexdigest()
    for role in ("producer", "worker"):
        with server.client(role) as client:
            client.set(f"qm:{{{digest[0]}}}:console:{digest}", f"{key.id} {key.secrets[0].digest}")
            with pytest.raises(redis.exceptions.NoPermissionError):
                client.set(f"qm:console:{digest}", f"{key.id} {key.secrets[0].digest}")
    server.tester.acl_log_reset()
    with (
        GatewayHere(of_role(deployment, server, "gateway").settings) as gateway,
        httpx.Client(base_url=gateway.url) as http,
    ):
        forged = httpx.get(f"{gateway.url}/console/jobs", cookies={"qm_console": secret})
        assert forged.status_code == 303
        (token,) = re.findall(r'name="token" value="([0-9a-f]+)"', http.get("/console/sign-in").text)
        sent = {"token": token, "key": written, "next": "/console"}
        assert http.post("/console/sign-in", data=sent).status_code == 303
        assert http.get("/console/jobs").status_code == 200
    server.tester.delete("qm:keys")
    ring.close()
    assert server.refused() == set()


def test_the_doctor_as_a_worker_says_whether_there_are_keys(server: Server, deployment: Deployment) -> None:
    environment = of_role(deployment, server, "worker").environment
    said = CommandLine(environment | NO_MODELS | {"QUERYMILL_KEYS_REQUIRED": "true"})("doctor")
    assert "querymill keys add" in said.stdout, said.stdout
    assert server.refused() == set()


@pytest.mark.parametrize(
    "command",
    [
        ("status",),
        *(pytest.param(words, marks=pytest.mark.nightly) for words in (("jobs",), ("jobs", "--state", "failed"))),
    ],
)
def test_the_commands_that_look_at_the_fleet_run_as_the_gateway(
    server: Server, samples: str, deployment: Deployment, command: tuple[str, ...]
) -> None:
    run = CommandLine(of_role(deployment, server, "gateway").environment)(*command)
    assert run.returncode == 0, run.stderr
    assert server.refused() == set()


def test_a_worker_that_stops_and_one_that_comes_back_are_refused_nothing(
    server: Server, samples: str, working: WorkerProcess, producer: Querymill, openai_server: OpenAIServer
) -> None:
    openai_server.script.chat = lambda request: chat_answer("| slow | 1 |", after_s=1)
    job = producer.submit(search("one that is interrupted", hyde=True))
    time.sleep(0.5)
    working.kill()
    working.start()
    assert job.result(timeout=20).results
    assert server.refused() == set()


EVERYBODYS = [
    ("FLUSHALL",), ("FLUSHDB",), ("KEYS", "*"), ("RANDOMKEY",), ("SHUTDOWN",), ("BGREWRITEAOF",),
    ("CONFIG", "SET", "maxmemory", "1"), ("ACL", "LIST"), ("ACL", "SETUSER", "me", "on", "nopass", "+@all"),
    ("CLIENT", "LIST"), ("CLIENT", "KILL", "TYPE", "normal"), ("MONITOR",), ("SCRIPT", "FLUSH"),
    ("FUNCTION", "FLUSH"), ("SWAPDB", "0", "1"), ("REPLICAOF", "no", "one"), ("SAVE",),
    ("MIGRATE", "h", "1", "k", "0", "1"),
    ("SUBSCRIBE", "anything"), ("GET", "another:program"), ("SET", "another:program", "1"),
    ("EVAL", "return redis.call('GET', KEYS[1])", "1", "another:program"),
]  # fmt: skip
CALLERS = [
    ("SCAN", "0"), ("CONFIG", "GET", "requirepass"), ("INFO",), ("RESTORE", "qm:{0}:x", "0", "x"), ("DUMP", "qm:{0}:x"),
    ("LPOP", "search"), ("LRANGE", "search", "0", "-1"),
    ("HSET", "qm:collections", "reports/x", "1"), ("ZADD", "qm:{workers}", "1", "me"), ("SET", "qm:sweeper", "me"),
    ("GET", "qm:vector:{x}"), ("GET", "qm:chat:{x}"), ("HSET", "qm:account:x", "opened", "1"),
    ("HSET", "qm:meters", "x", "1"), ("HSET", "qm:{costs}:day:1:model", "", "x"), ("SMEMBERS", "_kombu.binding.search"),
]  # fmt: skip
SESSION, LIMITS = f"qm:console:{'a' * 64}", "qm:gate:{0123456789ab}:windows"
#: What would mint a key or alter one, by every kind of command that some role has.
THE_KEEPERS = [
    ("HSET", "qm:keys", "me", "{}"), ("HDEL", "qm:keys", "me"), ("DEL", "qm:keys"), ("SET", "qm:keys", "x"),
    ("EXPIRE", "qm:keys", "1"), ("RENAME", "qm:{0}:x", "qm:keys"), ("RENAME", "qm:keys", "qm:{0}:x"),
    ("RESTORE", "qm:keys", "0", "x"), ("EVAL", "return redis.call('HSET', KEYS[1], 'me', '{}')", "1", "qm:keys"),
]  # fmt: skip
#: What would forge, read or end a session of the console, or lift the limits of a key.
THE_GATEWAYS = [
    ("SET", SESSION, "id"), ("GET", SESSION), ("DEL", SESSION), ("EXPIRE", SESSION, "9999"), ("APPEND", SESSION, "x"),
    ("RENAME", "qm:{0}:x", SESSION), ("RESTORE", SESSION, "0", "x"), ("DUMP", SESSION),
    ("EVAL", "return redis.call('SET', KEYS[1], 'id')", "1", SESSION),
    ("DEL", LIMITS), ("HSET", LIMITS, "1", "0"), ("ZADD", "qm:gate:{0123456789ab}:places", "1", "x"),
    ("HSET", "qm:gate:uses", "0123456789ab", "1"),
]  # fmt: skip
#: A worker has keys of its own only by name, so that what comes later is not its own by chance.
NO_WORKERS = [("HGETALL", "qm:keys"), ("HGET", "qm:keys", "x"), ("DUMP", "qm:keys"), ("SET", "qm:anything", "1")]
REFUSED = [
    *((role, command) for role in ROLES for command in EVERYBODYS),
    *((role, command) for role in ("producer", "gateway") for command in CALLERS),
    ("producer", ("HGETALL", "qm:meters")),
    ("producer", ("HGETALL", "qm:accounts")),
    ("producer", ("HGETALL", "qm:keys")),
    ("producer", ("HGETALL", "qm:{costs}:day:1:model")),
    *((role, ("HSET", "qm:{costs}:budgets", "k", "1")) for role in ("producer", "gateway", "worker")),
    ("keeper", ("HSET", "qm:{costs}:day:1:purse", "spent/k", "0")),
    ("keeper", ("XADD", "qm:{0}:x", "*", "a", "1")),
    *((role, command) for role in ("producer", "worker") for command in THE_GATEWAYS),
    *((role, command) for role in ("producer", "worker", "gateway") for command in THE_KEEPERS),
    *(("keeper", command) for command in THE_GATEWAYS),
    *(("worker", command) for command in NO_WORKERS),
]


@pytest.mark.parametrize(("role", "command"), REFUSED, ids=lambda value: value if isinstance(value, str) else value[0])
def test_what_a_role_is_not_for_is_refused(server: Server, role: str, command: tuple[str, ...]) -> None:
    with server.client(role) as client, pytest.raises(redis.exceptions.NoPermissionError):
        client.execute_command(*command)
    server.tester.acl_log_reset()


@pytest.mark.parametrize("role", ["producer", "worker", "gateway"])
def test_every_command_of_the_boards_scripts_is_allowed(server: Server, role: str) -> None:
    lua = "".join(path.read_text() for path in (files("querymill_shared.board") / "lua").iterdir())
    commands = {found.lower() for found in re.findall(r"""redis\.p?call\(\s*['"](\w+)""", lua)}
    assert {"hset", "zadd", "persist"} <= commands
    ask: Any = server.tester.execute_command
    refused = set()
    for command in commands:
        known = ask("COMMAND", "INFO", command)
        needed = abs(known[command]["arity"] if isinstance(known, dict) else known[0][1]) - 1
        said = ask("ACL", "DRYRUN", role, command, *["qm:{0}:x"] * needed)
        if said not in ("OK", b"OK", True):
            refused.add((role, "command", command))
    assert refused - WITHHELD - {(caller, "command", "restore") for caller in ("producer", "gateway")} == set()


@pytest.mark.parametrize("role", all_at_night(["producer", "worker", "gateway"], short=["gateway"]))
def test_a_dead_job_is_replayed_by_every_role_that_submits(server: Server, deployment: Deployment, role: str) -> None:
    with closing(ValkeyBoard.connect(of_role(deployment, server, "worker").settings)) as board:
        dead, _ = board.submit(search(f"a question of a {role}"))[:2]
        board.settle(dead, Verdict("dead", reason="PostgreSQL: PoolTimeout"))
    run = CommandLine(of_role(deployment, server, role).environment)("job", "replay", dead)
    assert (run.returncode, server.refused()) == (0, set()), run.stderr


@pytest.mark.parametrize("role", ROLES)
def test_a_script_may_do_no_more_than_who_runs_it(server: Server, role: str) -> None:
    with server.client(role) as client:
        for script in ("return redis.call('FLUSHALL')", "return redis.call('KEYS', '*')"):
            with pytest.raises(redis.ResponseError, match=f"User {role} has no permissions"):
                client.eval(script, 0)
    server.tester.acl_log_reset()


@pytest.mark.parametrize("login", ["", "producer:wrong@", ":x@", "default:@"])
def test_without_its_password_nobody_gets_in(server: Server, login: str) -> None:
    url = f"redis://{login}127.0.0.1:{server.port}/0"
    with redis.Redis.from_url(url) as client, pytest.raises(redis.AuthenticationError):
        client.ping()
    server.tester.acl_log_reset()
