"""`querymill doctor`: whatever a driver accepts is probed, and nothing that is secret is printed."""

import importlib.util
import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import redis

from querymill.cli.doctor import diagnose
from querymill.cli.probing import DoctorFinding
from querymill_shared.settings import Settings
from querymill_workers.postgres.migrate import migrate
from tests.fakes.answers import judgement
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer, chat_stream
from tests.fakes.rabbit import Rabbit
from tests.fakes.vectors import DIMENSIONS
from tests.fixtures.command_line import NO_MODELS, CommandLine
from tests.fixtures.deployment import Deployment


@pytest.fixture
def port() -> Iterator[int]:
    """A port on loopback that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def found(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> "Diagnosis":
    """A client alone: what the workers look at in a process of their own takes its time."""
    for name, value in deployment.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    return Diagnosis(monkeypatch)


class Diagnosis:
    """A diagnosis after some settings were changed."""

    def __init__(self, environment: pytest.MonkeyPatch) -> None:
        self._environment = environment

    def __call__(self, **changed: str) -> dict[str, DoctorFinding]:
        for name, value in changed.items():
            self._environment.setenv(name, value)
        findings = diagnose()
        assert "HUNTER" not in repr(findings)
        return {finding.name: finding for finding in findings}


def test_a_keyword_string_is_probed_where_it_says(found: Diagnosis, database_url: str) -> None:
    place = urlsplit(database_url)
    named = f"host={place.hostname} port={place.port} dbname=querymill password=HUNTER"
    database = found(DATABASE_URL=named)["PostgreSQL"]
    assert database == DoctorFinding("PostgreSQL", named.replace("HUNTER", "***"), ok=True)
    away = found(DATABASE_URL="host=127.0.0.1 port=1 password='HUNTER TWO'")["PostgreSQL"]
    assert (away.value, away.ok) == ("host=127.0.0.1 port=1 password=***", False)
    assert away.mend.startswith("DATABASE_URL: 127.0.0.1:1: ")


@pytest.mark.parametrize("form", ["postgresql://u:HUNTER@127.0.0.1:1,127.0.0.1:{}/db", "host=127.0.0.1 port=1,{}"])
def test_one_of_several_hosts_that_answers_is_enough(found: Diagnosis, form: str, port: int) -> None:
    several = form.format(port).replace("host=127.0.0.1 ", "host=127.0.0.1,127.0.0.1 ")
    assert found(DATABASE_URL=several)["PostgreSQL"].ok
    assert found(MONGODB_URI=f"mongodb://u:HUNTER@127.0.0.1:1,127.0.0.1:{port}/x")["MongoDB"].ok
    assert not found(MONGODB_URI="mongodb://u:HUNTER@127.0.0.1:1,127.0.0.1:2/x")["MongoDB"].ok


def test_a_mongodb_that_no_setting_names_is_not_asked_for(found: Diagnosis) -> None:
    assert "MongoDB" not in found()


def test_a_local_socket_is_probed(found: Diagnosis, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("s")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / ".s.PGSQL.5432"))
        server.listen()
        assert found(DATABASE_URL=f"host={folder} password=HUNTER")["PostgreSQL"].ok
    assert not found(DATABASE_URL=f"postgresql:///db?host={folder}&port=1")["PostgreSQL"].ok


def test_what_names_no_host_is_not_called_broken(found: Diagnosis) -> None:
    searched = found(MONGODB_URI="mongodb+srv://u:HUNTER@cluster.example/x")["MongoDB"]
    assert (searched.value, searched.ok) == ("mongodb+srv://u:***@cluster.example/x", None)
    assert "DNS" in searched.mend
    assert found(DATABASE_URL="dbname=mill password=HUNTER")["PostgreSQL"].ok is None


def test_a_broker_is_probed_at_the_port_of_its_scheme(found: Diagnosis) -> None:
    assert "127.0.0.1:5671: " in found(CELERY_BROKER_URL="amqps://guest:HUNTER@127.0.0.1//")["broker"].mend
    assert "127.0.0.1:5672: " in found(CELERY_BROKER_URL="amqp://guest:HUNTER@127.0.0.1//")["broker"].mend


@pytest.mark.parametrize(("name", "setting"), [("broker", "CELERY_BROKER_URL"), ("cache", "QUERYMILL_CACHE_URL")])
def test_a_valkey_is_asked_with_the_password_of_its_address(
    found: Diagnosis, valkey_url: str, name: str, setting: str
) -> None:
    other = valkey_url.rpartition("/")[0] + "/9"
    assert found(**{setting: other})[name].ok
    refused = found(
        **{
            setting: urlsplit(other)
            ._replace(netloc=f"nobody:HUNTER@{urlsplit(other).netloc.rpartition('@')[2]}")
            .geturl()
        }
    )
    assert refused[name].ok is False
    assert refused[name].mend.startswith(f"{setting}: ")
    assert "password" in refused[name].mend


@pytest.mark.nightly
def test_a_rabbitmq_is_asked_whether_the_user_may_ring(found: Diagnosis, shared_rabbit: Rabbit) -> None:
    """The permissions are those of `deploy/README.md`."""
    shared_rabbit.ask("add_user", "client", "HUNTER")
    try:
        address = urlsplit(shared_rabbit.url("3"))
        url = address._replace(netloc=f"client:HUNTER@127.0.0.1:{shared_rabbit.port}").geturl()
        assert "3" in (refused := found(CELERY_BROKER_URL=url)["broker"]).mend, "no permission in the virtual host"
        assert refused.ok is False
        shared_rabbit.ask("set_permissions", "-p", "3", "client", "^$", "^$", "^$")
        assert "amq.default" in (refused := found(CELERY_BROKER_URL=url)["broker"]).mend
        assert refused.ok is False
        shared_rabbit.ask("set_permissions", "-p", "3", "client", "^$", r"^amq\.default$", "^$")
        assert found(CELERY_BROKER_URL=url)["broker"].ok
        wrong = found(CELERY_BROKER_URL=url.replace("HUNTER", "HUNTERS"))["broker"]
        assert wrong.ok is False
        assert "password" in wrong.mend
    finally:
        shared_rabbit.ask("delete_user", "client")


UNREADABLE = [
    ("DATABASE_URL", "PostgreSQL", "host=127.0.0.1 password=HUNTER TWO"),
    ("DATABASE_URL", "PostgreSQL", "postgresql+psycopg://u:HUNTER@127.0.0.1/x"),
    ("MONGODB_URI", "MongoDB", "u:HUNTER@127.0.0.1:27017"),
    ("MONGODB_URI", "MongoDB", "host=127.0.0.1 password=HUNTER"),
    ("OPENAI_BASE_URL", "chat models", "models.example/HUNTER"),
]


@pytest.mark.parametrize(("setting", "service", "value"), UNREADABLE)
def test_an_address_that_its_driver_cannot_read_is_a_finding(
    found: Diagnosis, setting: str, service: str, value: str
) -> None:
    finding = found(**{setting: value})[service]
    assert finding.ok is False
    assert finding.mend.startswith(f"{setting}: must ")


def test_secrets_of_every_form_are_hidden(found: Diagnosis) -> None:
    shown = found(
        REDIS_URL="redis://127.0.0.1:1/0?password=HUNTER",
        CELERY_BROKER_URL="amqp://guest:HUN@HUNTER@127.0.0.1:1//",
        DATABASE_URL="postgresql://127.0.0.1:1/db?user=u&password=HUNTER",
        MONGODB_URI="mongodb://u:HUN@HUNTER@127.0.0.1:1/x",
        OPENAI_BASE_URL="http://u:HUNTER@127.0.0.1:1/v1",
        OPENAI_API_KEY="sk-HUNTER\n",
        EMBEDDING_BASE_URL="http://127.0.0.1:1/v1?api-key=HUNTER",
    )
    assert shown["REDIS_URL"].value == shown["board"].value == "redis://127.0.0.1:1/0?password=***"
    assert shown["CELERY_BROKER_URL"].value == shown["broker"].value == "amqp://guest:***@127.0.0.1:1//"
    assert shown["chat models"].value == "http://***@127.0.0.1:1/v1"
    assert "header" in shown["chat models"].mend


def test_a_setting_that_breaks_a_rule_is_a_finding(deployment: Deployment) -> None:
    broken = deployment.environment | {"REDIS_URL": "127.0.0.1:6379", "QUERYMILL_LEASE_S": "60"}
    querymill = CommandLine(broken)
    run = querymill("doctor", "--json")
    assert run.returncode == 2, run.stderr
    findings = {finding["name"]: finding for finding in json.loads(run.stdout)}
    assert set(findings) == {"REDIS_URL", "QUERYMILL_LEASE_S"}
    assert findings["REDIS_URL"]["ok"] is False
    assert "redis://, rediss:// or unix://" in findings["REDIS_URL"]["mend"]
    asked = querymill("search", "reports", "q", "--collection", "filings")
    assert asked.returncode == 2
    assert asked.stderr.splitlines()[0].startswith("REDIS_URL: must be a URL that begins with redis://")
    assert len(asked.stderr.splitlines()) == 2


def test_a_wall_that_fell_is_named(deployment: Deployment, empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (deployment.environment | NO_MODELS).items():
        monkeypatch.setenv(name, value)
    found = Diagnosis(monkeypatch)
    migrate(empty_url)
    assert found(DATABASE_URL=empty_url)["walls"] == DoctorFinding(
        "walls", "migrations, role, pgvector, row-level security", ok=True
    )
    with psycopg.connect(empty_url) as connection:
        connection.execute("ALTER TABLE report_pages DISABLE ROW LEVEL SECURITY")
        connection.execute("ALTER TABLE code_files NO FORCE ROW LEVEL SECURITY")
        connection.execute("DROP POLICY own_collection ON text_vectors")
        connection.execute("ALTER FUNCTION empty_words() RESET search_path")
    walls = found(DATABASE_URL=empty_url)["walls"]
    assert walls.ok is False
    for named in (
        "report_pages has no row-level security",
        "code_files is not forced upon its owner",
        "text_vectors lacks a policy, or has one too many: own_collection",
        "empty_words() has no search_path of its own",
        "run querymill migrate",
    ):
        assert named in walls.mend


def test_a_database_that_nobody_migrated_is_a_finding_with_its_mend(
    deployment: Deployment, empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (deployment.environment | NO_MODELS).items():
        monkeypatch.setenv(name, value)
    walls = Diagnosis(monkeypatch)(DATABASE_URL=empty_url)["walls"]
    assert walls.ok is False
    assert "missing migrations 0001" in walls.mend
    assert walls.mend.endswith("run querymill migrate")


def test_a_database_that_refuses_the_password_is_a_finding_of_the_database(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (deployment.environment | NO_MODELS).items():
        monkeypatch.setenv(name, value)
    place = urlsplit(deployment.environment["DATABASE_URL"])
    wrong = place._replace(netloc=f"{place.username}:HUNTER@{place.hostname}:{place.port}").geturl()
    shown = Diagnosis(monkeypatch)(DATABASE_URL=wrong)
    assert shown["PostgreSQL"].ok is False
    assert "password authentication failed" in shown["PostgreSQL"].mend
    assert "walls" not in shown


def test_a_board_that_keeps_nothing_on_disk_is_named(found: Diagnosis, board_client: redis.Redis) -> None:
    kept = str(board_client.config_get("appendonly")["appendonly"])
    try:
        board_client.config_set("appendonly", "no")
        shown = found()
        assert (shown["board"].ok, "appendonly yes" in shown["board"].mend) == (None, True)
        assert "workers" in shown
        board_client.config_set("appendonly", "yes")
        assert found()["board"].ok is True
    finally:
        board_client.config_set("appendonly", kept)


def test_a_board_without_memory_is_named_although_it_answers(found: Diagnosis, board_client: redis.Redis) -> None:
    kept = str(board_client.config_get("maxmemory")["maxmemory"])
    try:
        board_client.config_set("maxmemory", "1")
        board = found()["board"]
        assert board.ok is False
        assert "memory" in board.mend
    finally:
        board_client.config_set("maxmemory", kept)
    assert found()["board"].ok


def test_the_walls_of_a_client_without_workers_are_not_probed(found: Diagnosis) -> None:
    walls = found()["walls"]
    assert (walls.ok, walls.mend.split(":")[0]) == (None, "not probed")


def test_a_proxy_that_can_be_used_says_where_it_leads(found: Diagnosis, port: int) -> None:
    away = "http://models.provider.invalid/v1"
    led = found(EMBEDDING_BASE_URL=away, ALL_PROXY=f"http://u:HUNTER@127.0.0.1:{port}")["ALL_PROXY"]
    assert (led.value, led.ok, led.mend) == (f"http://***@127.0.0.1:{port}", True, f"leads to {away}")


def test_the_models_of_a_client_without_workers_are_not_probed(found: Diagnosis, openai_server: OpenAIServer) -> None:
    shown = found()
    for name in ("chat models", "embedding models"):
        assert (shown[name].ok, shown[name].mend.split(":")[0]) == (None, "not probed")
    assert openai_server.requests == []


@pytest.fixture
def tried(deployment: Deployment, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> Diagnosis:
    """A diagnosis where the workers are installed, with a chat model that says and judges."""
    for name, value in deployment.environment.items():
        monkeypatch.setenv(name, value)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    openai_server.script.chat = said
    return Diagnosis(monkeypatch)


def said(request: dict[str, Any]) -> Answer:
    return chat_stream("Oh", " kay") if request.get("stream") else chat_answer(judgement())


@pytest.mark.nightly  # by day: test_trial.py
def test_a_model_is_called_as_the_workers_call_it(tried: Diagnosis, openai_server: OpenAIServer) -> None:
    openai_server.script.rerank = lambda _: Answer(b'{"results": [{"index": 1, "relevance_score": 0.25}]}')
    shown = tried(RERANK_BASE_URL=openai_server.url, RERANK_MODEL="judge")
    assert {name: (shown[name].ok, shown[name].value) for name in MODELS} == {
        "chat models": (True, f'{openai_server.url} · says "Oh kay" and judges'),
        "embedding models": (True, f"{openai_server.url} · vectors of {DIMENSIONS} dimensions{DEAF}"),
        "rerank endpoint": (True, f"{openai_server.url} · relevance none, 0.25"),
    }
    written, judged = openai_server.seen("completions")
    assert written["stream_options"] == {"include_usage": True}
    assert {"max_completion_tokens", "temperature", "frequency_penalty"} <= written.keys() & judged.keys()
    assert judged["response_format"]["type"] == "json_schema"
    assert all(body["encoding_format"] == "float" for body in openai_server.seen("embeddings"))


#: The server of the tests takes no notice of the input's type.
DEAF = "; it embeds questions and passages alike, although the model tells them apart"
MODELS = ("chat models", "embedding models", "rerank endpoint")


@pytest.mark.nightly  # by day: test_trial.py
def test_a_model_that_does_not_serve_the_workers_is_a_finding(tried: Diagnosis, openai_server: OpenAIServer) -> None:
    openai_server.script.embeddings = lambda _: Answer(b"<html>", headers={"Content-Type": "text/html"})
    shown = tried(OPENAI_BASE_URL="http://127.0.0.1:1/v1", EMBEDDING_BASE_URL=openai_server.url)
    assert shown["chat models"].mend == "OPENAI_BASE_URL: no connection; is it running, is the address right?"
    assert shown["embedding models"].mend == "EMBEDDING_MODEL: an HTML page instead of JSON"
    assert (shown["chat models"].ok, shown["embedding models"].ok) == (False, False)


@pytest.mark.nightly  # by day: the findings each alone, in this file
def test_a_board_that_is_away_hides_no_other_finding(tried: Diagnosis, openai_server: OpenAIServer) -> None:
    openai_server.script.chat = lambda _: Answer(b"{}", status=401)
    shown = tried(REDIS_URL="redis://127.0.0.1:1/0")
    assert (shown["board"].ok, shown["PostgreSQL"].ok, shown["walls"].ok) == (False, True, True)
    assert (shown["chat models"].ok, shown["embedding models"].ok) == (False, True)


def test_a_proxy_that_no_call_needs_is_named_and_fails_nothing(tried: Diagnosis) -> None:
    shown = tried(ALL_PROXY="socks5://u:HUNTER@127.0.0.1:9", HTTP_PROXY="socks4://127.0.0.1:9")
    assert shown["chat models"].ok
    assert shown["embedding models"].ok
    assert (shown["ALL_PROXY"].ok, shown["HTTP_PROXY"].ok) == (None, None)
    assert "ALL_PROXY: nothing answers at the proxy" in shown["ALL_PROXY"].mend
    assert "write socks5://" in shown["HTTP_PROXY"].mend


@pytest.mark.nightly  # by day: test_proxies.py, and the next test
def test_a_proxy_that_a_call_needs_fails_that_call(tried: Diagnosis, openai_server: OpenAIServer) -> None:
    away = "http://models.provider.invalid/v1"
    shown = tried(EMBEDDING_BASE_URL=away, HTTP_PROXY="socks4://127.0.0.1:9")
    assert (shown["HTTP_PROXY"].ok, shown["embedding models"].ok, shown["chat models"].ok) == (False, False, True)
    assert shown["HTTP_PROXY"].mend.endswith(f"mend or unset it, or name the host in NO_PROXY: {away}")
    assert "HTTP_PROXY: must begin with" in shown["embedding models"].mend


def test_only_settings_that_differ_from_their_defaults_are_listed(found: Diagnosis) -> None:
    shown = found(CHAT_MODEL=Settings.model_fields["chat_model"].default, QUERYMILL_LEASE_S="2.5")
    assert "CHAT_MODEL" not in shown
    assert "QUERYMILL_GLOSSARY" not in shown
    assert shown["QUERYMILL_LEASE_S"].value == "2.5"
