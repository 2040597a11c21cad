"""The settings, and whether every service that they name answers."""

import importlib.util
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pydantic
import redis

from querymill import keys
from querymill.cli.broker_probe import probe_login
from querymill.cli.callback_probe import callback_findings
from querymill.cli.endings import explain_denial
from querymill.cli.probing import TIMEOUT_S, DoctorFinding, probe_address
from querymill.cli.reader_probe import reader_finding
from querymill_shared.board import ValkeyBoard, lives
from querymill_shared.board.clock import MAX_APART_S, read_clock, server_ahead_s
from querymill_shared.board.connections import open_commands
from querymill_shared.contracts.errors import rule_text
from querymill_shared.misplaced_broker import misplaced_broker
from querymill_shared.proxies import Proxy, proxies, proxy_of
from querymill_shared.queues import Queue
from querymill_shared.settings import Settings
from querymill_shared.urls import HIDDEN, mask, read_address

#: The workers look at the walls in a process of their own: the client has no driver of a database.
_WALLS = ("-P", "-m", "querymill_workers.migrate", "--check")
_WALLS_S = 60.0
#: They call the models, too, because only they know what they can use of a reply.
_TRIAL = ("-P", "-m", "querymill_workers.trial")
_TRIAL_S = 120.0
_DATABASE_SCHEMES = ("", "postgresql", "postgres")
_DATABASE_RULE = "begin with postgresql://, or be keywords such as host=… dbname=…"
#: How the driver begins its reason why there is no connection.
_NO_LOGIN = "connection failed: "
_MONGODB_SCHEMES = ("mongodb", "mongodb+srv")
_MONGODB_RULE = "begin with mongodb:// or mongodb+srv://"


def diagnose() -> list[DoctorFinding]:
    """Look at the settings, then at each service; never shows a secret.

    Raises:
        pydantic.ValidationError: A setting breaks a rule; see `broken_settings`.
    """
    settings = Settings()
    found = [*_settings(settings), *_services(settings), reader_finding()]
    return [replace(finding, mend=settings.mask_secrets(finding.mend)) for finding in found]


def broken_settings(error: pydantic.ValidationError) -> list[DoctorFinding]:
    """Say which settings break which rule; their values, which may be secrets, are not shown."""
    return [
        DoctorFinding(".".join(map(str, part["loc"])).upper(), HIDDEN, ok=False, mend=rule_text(part))
        for part in error.errors()
    ]


def _settings(settings: Settings) -> Iterator[DoctorFinding]:
    """List the settings that differ from their defaults."""
    defaults = Settings.model_construct()
    for name in type(settings).model_fields:
        if getattr(settings, name) != getattr(defaults, name):
            yield DoctorFinding(name.upper(), settings.shown(name))


def _services(settings: Settings) -> Iterator[DoctorFinding]:
    board = _board(settings)
    yield board
    if board.ok is not False:
        yield _workers(settings)
        yield from _keys(settings)
    if settings.broker_url != settings.redis_url:
        yield _broker_on_cluster(settings) or probe_login("broker", settings.broker_url, "CELERY_BROKER_URL")
    elif (misplaced := _broker_on_cluster(settings)) is not None:
        yield misplaced
    if settings.querymill_cache_url:
        yield probe_login("cache", settings.querymill_cache_url, "QUERYMILL_CACHE_URL")
    modules = settings.mongodb_uri.get_secret_value()
    database, database_s = _database(settings)
    yield from database
    if board.ok is not False:
        yield _clocks(settings, database_s)
    if modules:
        yield probe_address("MongoDB", modules, "MONGODB_URI", schemes=_MONGODB_SCHEMES, rule=_MONGODB_RULE)
    yield from callback_findings(settings)
    yield from _models(settings)


def _database(settings: Settings) -> tuple[list[DoctorFinding], float | None]:
    """Look at the database. Return also by how many seconds its clock is ahead of this machine's, or None."""
    url = settings.database_url.get_secret_value()
    postgres = probe_address("PostgreSQL", url, "DATABASE_URL", schemes=_DATABASE_SCHEMES, rule=_DATABASE_RULE)
    if not postgres.ok:
        return [postgres], None
    walls, ahead_s = _walls()
    if _NO_LOGIN in walls.mend:  # its port answers, but it lets nobody in
        return [replace(postgres, ok=False, mend=walls.mend)], None
    return [postgres, walls], ahead_s


def _models(settings: Settings) -> Iterator[DoctorFinding]:
    """Call each model as the workers do: that a server lists a model does not show that its replies are of use."""
    yield from proxy_findings(settings)
    faults = [(model, _fault(model)) for model in _models_of(settings)]
    tried = _try() if any(fault is None for _, fault in faults) else {}
    for model, fault in faults:
        shown = mask(model.base_url)
        yield DoctorFinding(model.name, shown, ok=False, mend=fault) if fault else _finding(model, shown, tried)


def _models_of(settings: Settings) -> list["_Model"]:
    """Return the models that the settings name."""
    url, key = settings.embedding_endpoint
    models = [
        _Model(
            "chat models",
            settings.openai_base_url,
            settings.openai_api_key.get_secret_value(),
            "OPENAI_BASE_URL",
            "CHAT_MODEL",
        ),
        _Model("embedding models", url, key, "EMBEDDING_BASE_URL", "EMBEDDING_MODEL"),
    ]
    if settings.rerank_base_url:
        key = settings.rerank_api_key.get_secret_value()
        models.append(_Model("rerank endpoint", settings.rerank_base_url, key, "RERANK_BASE_URL", "RERANK_MODEL"))
    if settings.querymill_previous_embedding_model:
        url, key = settings.previous_embedding_endpoint
        prefix = "QUERYMILL_PREVIOUS_EMBEDDING"
        models.append(_Model("previous embedding model", url, key, f"{prefix}_BASE_URL", f"{prefix}_MODEL"))
    return models


def _finding(model: "_Model", shown: str, tried: Mapping[str, Any] | str) -> DoctorFinding:
    """Return what came of a model's trial, or why there was none."""
    if isinstance(tried, str):
        return DoctorFinding(model.name, shown, mend=tried)
    result = tried[model.name]
    if result["ok"]:
        return DoctorFinding(model.name, f"{shown} · {result['said']}", ok=True)
    setting = model.model_setting if result["reached"] else model.setting
    return DoctorFinding(model.name, shown, ok=result["ok"], mend=f"{setting}: {result['said']}")


def _try() -> Mapping[str, Any] | str:
    """Return the result of each model's trial by its name, or why there was none."""
    if importlib.util.find_spec("querymill_workers") is None:
        return f"not probed: the workers are not installed here; run python {' '.join(_TRIAL)} where they are"
    try:
        tried = subprocess.run([sys.executable, *_TRIAL], capture_output=True, text=True, timeout=_TRIAL_S, check=False)
    except subprocess.TimeoutExpired:
        return f"not probed: no result within {_TRIAL_S:.0f} s"
    if tried.returncode != 0:
        return f"not probed: {(tried.stderr.strip().splitlines() or ['the trial ended without a word'])[-1]}"
    results = [json.loads(line) for line in tried.stdout.splitlines()]
    return {result["name"]: result for result in results}


def proxy_findings(settings: Settings) -> Iterator[DoctorFinding]:
    """Say of each proxy of the environment whether it can be used, and which models are asked through it."""
    urls = [model.base_url for model in _models_of(settings)]
    for proxy in proxies():
        users = ", ".join(dict.fromkeys(mask(url) for url in urls if proxy_of(url) == proxy))
        fault = proxy.fault() or _silence(proxy)
        if fault is None:
            yield DoctorFinding(proxy.setting, proxy.shown, ok=True, mend=f"leads to {users or 'no model'}")
        elif users:
            mend = f"{fault}; mend or unset it, or name the host in NO_PROXY: {users}"
            yield DoctorFinding(proxy.setting, proxy.shown, ok=False, mend=mend)
        else:
            yield DoctorFinding(proxy.setting, proxy.shown, mend=f"{fault}; mend or unset it: so far no model needs it")


def _silence(proxy: Proxy) -> str | None:
    try:
        socket.create_connection(proxy.place(), TIMEOUT_S).close()
    except OSError as error:
        return f"{proxy.setting}: nothing answers at the proxy ({error})"
    return None


def _board(settings: Settings) -> DoctorFinding:
    shown = mask(settings.redis_url)
    board = ValkeyBoard.connect(settings)
    try:
        board.ping()
        policy, appends = board.server_setting("maxmemory-policy"), board.server_setting("appendonly")
    except redis.exceptions.NoPermissionError as error:
        return DoctorFinding("board", shown, ok=False, mend=explain_denial(error))
    except redis.RedisError as error:
        return DoctorFinding(
            "board", shown, ok=False, mend=f"REDIS_URL: {error.__cause__ or error}; `querymill up` starts one"
        )
    finally:
        board.close()
    if policy not in (None, "noeviction"):
        mend = f"REDIS_URL: maxmemory-policy is {policy}: a full server drops jobs; set noeviction"
        return DoctorFinding("board", shown, ok=False, mend=mend)
    if appends == "no":
        return DoctorFinding(
            "board", shown, mend="REDIS_URL: a restart of the server loses open jobs; set appendonly yes"
        )
    return DoctorFinding("board", shown, ok=True)


def _broker_on_cluster(settings: Settings) -> DoctorFinding | None:
    """Say that the broker is a cluster, on which bells cannot ride, if it is one."""
    misplaced = misplaced_broker(settings)
    return None if misplaced is None else DoctorFinding("broker", mask(settings.broker_url), ok=False, mend=misplaced)


def _workers(settings: Settings) -> DoctorFinding:
    """Say how many worker processes are alive, and on which queues none listens. Not every fleet needs all queues."""
    with open_commands(settings.redis_url) as client:
        listening = lives.listening(found := lives.read_lives(client))
    alive = sum(life.beat_age_s < lives.ALIVE_S for life in found)
    deserted = [queue.value for queue in Queue if not listening[queue]]
    if not alive:
        return DoctorFinding("workers", "0 alive", ok=False, mend="no worker is alive: jobs wait until one starts")
    value = f"{alive} alive, {sum(life.slots for life in found if life.beat_age_s < lives.ALIVE_S)} slots"
    if deserted:
        return DoctorFinding("workers", value, mend=f"no worker listens on {', '.join(deserted)}: such jobs wait")
    return DoctorFinding("workers", value, ok=True)


def _clocks(settings: Settings, database_s: float | None) -> DoctorFinding:
    """Compare the clocks of this machine, of the workers and of the database with that of the board's server."""
    with open_commands(settings.redis_url) as client:
        server_s = server_ahead_s(client)
        found = [(f"worker {life.name}", life.clock_ahead_s) for life in lives.read_lives(client)]
        stepped_s = read_clock(client) - time.time() - server_s
    found += [("this machine", -server_s), ("PostgreSQL", None if database_s is None else database_s - server_s)]
    known = [(name, ahead_s) for name, ahead_s in found if ahead_s is not None]
    value = f"at most {max(abs(ahead_s) for _, ahead_s in known):.1f} s apart"
    apart = [f"{name} is {abs(s):.1f} s {'ahead' if s > 0 else 'behind'}" for name, s in known if abs(s) > MAX_APART_S]
    if apart:
        mend = f"compared with the clock of the board's server: {'; '.join(apart)}; let NTP set the clocks"
        return DoctorFinding("clocks", value, ok=False, mend=mend)
    if stepped_s > MAX_APART_S:
        stepped = f"the board is {stepped_s:.0f} s ahead of its server, whose clock stepped back"
        mend = f"{stepped}; its clock runs 1 % slow until they agree"
        return DoctorFinding("clocks", value, mend=mend)
    return DoctorFinding("clocks", value, ok=True)


def _keys(settings: Settings) -> Iterator[DoctorFinding]:
    """Say whether the gateway has API keys, if it has some or needs them."""
    with open_commands(settings.redis_url) as client:
        try:
            has_keys = bool(client.exists(keys.STORED_AT))
        except redis.exceptions.NoPermissionError:
            yield DoctorFinding("API keys", "unknown", mend="not probed: the user of REDIS_URL may not look for them")
            return
    if has_keys:
        yield DoctorFinding("API keys", "stored", ok=True)
    elif keys.are_required(settings):
        yield DoctorFinding(
            "API keys", "none", ok=False, mend=f"{keys.NONE_STORED}; until then the gateway refuses everybody"
        )
    else:
        mend = "a gateway that requires keys refuses everybody until `querymill keys add` has made one"
        yield DoctorFinding("API keys", "none", mend=mend)


def _walls() -> tuple[DoctorFinding, float | None]:
    """Say what the database lacks: migrations, the role, pgvector, and the walls between collections.

    Return also by how many seconds its clock is ahead of this machine's, or None.
    """
    value = "migrations, role, pgvector, row-level security"
    if importlib.util.find_spec("querymill_workers") is None:
        mend = f"not probed: the workers are not installed here; run python {' '.join(_WALLS)} where they are"
        return DoctorFinding("walls", value, mend=mend), None
    try:
        checked = subprocess.run(
            [sys.executable, *_WALLS], capture_output=True, text=True, timeout=_WALLS_S, check=False
        )
    except subprocess.TimeoutExpired:
        return DoctorFinding("walls", value, mend=f"not probed: no answer within {_WALLS_S:.0f} s"), None
    if checked.returncode == 0:
        clock = re.search(r"ahead of this machine's by (-?[\d.]+) s", checked.stdout)
        return DoctorFinding("walls", value, ok=True), None if clock is None else float(clock[1])
    lines = checked.stderr.strip().splitlines()
    return DoctorFinding("walls", value, ok=False, mend=lines[-1] if lines else "the check ended without a word"), None


@dataclass(frozen=True, slots=True)
class _Model:
    """A model's address, its key, and the settings that name the address and the model."""

    name: str
    base_url: str
    key: str
    setting: str
    model_setting: str


def _fault(model: _Model) -> str | None:
    """Return why no request can be sent to a model, or None if nothing speaks against it."""
    read = read_address(model.base_url)
    if read is None or read.scheme not in ("http", "https") or len(read.hosts) != 1:
        return f"{model.setting}: must begin with http:// or https://"
    if not re.fullmatch(r"[!-~]*", model.key):
        return f"{model.setting}: its key must be one word of ASCII, or no HTTP header can carry it"
    return None
