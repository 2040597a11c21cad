"""Who may use the embedded servers: whoever has the password of the data folder, and nobody else on the machine."""

import os
import re
import stat
import subprocess
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit, urlunsplit

import psutil
import psycopg
import pytest
import redis

from querymill_embedded import Stack, StackPart, temporary_stack
from querymill_embedded.postgres import SUPERUSER, programs_folder, server_account
from tests.fixtures.short_forms import all_at_night
from tests.fixtures.stacks import kept

__all__ = ["kept"]

SERVERS = {StackPart.VALKEY, StackPart.POSTGRES}


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with temporary_stack(parts=SERVERS) as running:
        yield running


def without_password(url: str, *, user: str = "") -> str:
    """The address as somebody would guess it who cannot read the data folder."""
    read = urlsplit(url)
    place = read.netloc.rpartition("@")[2]
    return urlunsplit(read._replace(netloc=f"{user}@{place}" if user else place))


def passwords_of(environment: Mapping[str, str]) -> dict[str, str]:
    names = ("REDIS_URL", "DATABASE_URL")
    found = {name: urlsplit(environment[name]).password or "" for name in names}
    assert all(found.values()), "a server has no password"
    return found


@pytest.mark.parametrize("user", all_at_night([SUPERUSER, "querymill", "nobody"], short=["querymill"]))
def test_postgres_refuses_whoever_has_no_password(stack: Stack, user: str) -> None:
    url = without_password(stack.environment()["DATABASE_URL"], user=user)
    with pytest.raises(psycopg.OperationalError, match="no password supplied"):
        psycopg.connect(url, connect_timeout=5)


def test_the_superuser_of_postgres_logs_in_with_no_password_at_all(stack: Stack) -> None:
    url = stack.environment()["DATABASE_URL"].replace("//querymill:", f"//{SUPERUSER}:")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(url, connect_timeout=5)


@pytest.mark.parametrize("command", [["PING"], ["CONFIG", "GET", "requirepass"], ["HKEYS", "qm:collections"]])
def test_valkey_refuses_whoever_has_no_password(stack: Stack, command: list[str]) -> None:
    with (
        redis.Redis.from_url(without_password(stack.environment()["REDIS_URL"])) as bare,
        pytest.raises(redis.AuthenticationError),
    ):
        bare.execute_command(*command)


def test_the_environment_opens_each_server(stack: Stack) -> None:
    at = stack.environment()
    with redis.Redis.from_url(at["REDIS_URL"]) as valkey:
        assert valkey.ping()
    with psycopg.connect(at["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("querymill",)


def test_each_data_folder_and_each_server_has_a_password_of_its_own(stack: Stack) -> None:
    with temporary_stack(parts={StackPart.VALKEY}) as other:
        others = urlsplit(other.environment()["REDIS_URL"]).password
    passwords = [*passwords_of(stack.environment()).values(), others]
    assert len(set(passwords)) == 3
    assert all(re.fullmatch(r"[0-9a-f]{32,}", str(password)) for password in passwords)


def test_a_password_stands_in_private_files_only_and_in_no_log_and_no_command_line(stack: Stack) -> None:
    passwords = passwords_of(stack.environment())
    holding = {
        path
        for path in stack.data.rglob("*")
        if path.is_file() and any(password.encode() in path.read_bytes() for password in passwords.values())
    }
    assert holding, "the passwords are nowhere"
    assert {stat.S_IMODE(path.stat().st_mode) for path in holding} == {0o600}
    assert not any(path.is_relative_to(stack.data / "logs") for path in holding)
    for status in stack.status():
        process = psutil.Process(status.pid)
        words = [*process.cmdline(), *(word for child in process.children(recursive=True) for word in child.cmdline())]
        assert not any(password in " ".join(words) for password in passwords.values())


def open_up(stack: Stack) -> None:
    """Take all passwords from a folder: PostgreSQL trusts everybody, and no file has one."""
    account = server_account(os.geteuid())
    cluster = stack.data / StackPart.POSTGRES / "cluster"
    hba = cluster / "pg_hba.conf"
    hba.write_text("local all all trust\nhost all all 127.0.0.1/32 trust\nhost all all ::1/128 trust\n")
    postgres = [str(programs_folder(account) / "postgres"), "--single", "-j", "-D", str(cluster), "querymill"]
    subprocess.run(
        postgres,
        input="ALTER ROLE querymill PASSWORD NULL;\n\n",
        text=True, check=True, capture_output=True, cwd=cluster, user=None if account is None else account.uid,
    )  # fmt: skip
    for path in (stack.data / "passwords").iterdir():
        path.unlink()
    (stack.data / "passwords").rmdir()


def test_a_folder_without_passwords_gets_them_at_its_next_start_and_keeps_its_data(kept: Stack) -> None:
    kept.up(parts=SERVERS)
    _write(kept.environment())
    kept.down()
    open_up(kept)

    kept.up(parts=SERVERS)

    at = kept.environment()
    passwords = passwords_of(at)
    _check_written(at)
    with pytest.raises(psycopg.OperationalError, match="no password supplied"):
        psycopg.connect(without_password(at["DATABASE_URL"], user=SUPERUSER), connect_timeout=5)
    kept.down()
    kept.up(parts=SERVERS)
    assert passwords_of(kept.environment()) == passwords
    _check_written(kept.environment())


def test_a_part_that_runs_without_a_password_is_reached(kept: Stack) -> None:
    kept.up(parts={StackPart.VALKEY})
    (kept.data / "passwords" / "valkey").rename(kept.data / "elsewhere")
    assert kept.environment()["REDIS_URL"].startswith("redis://127.0.0.1:")
    (kept.data / "elsewhere").rename(kept.data / "passwords" / "valkey")


def _write(at: Mapping[str, str]) -> None:
    with redis.Redis.from_url(at["REDIS_URL"]) as valkey:
        valkey.set("kept", "yes")
    with psycopg.connect(at["DATABASE_URL"]) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS one")


def _check_written(at: Mapping[str, str]) -> None:
    with redis.Redis.from_url(at["REDIS_URL"]) as valkey:
        assert valkey.get("kept") == b"yes"
    with psycopg.connect(at["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT one FROM kept").fetchone() == (1,)
