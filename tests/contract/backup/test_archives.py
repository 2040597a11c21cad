"""Which dumps and folders `querymill restore` takes: whole ones, and into empty servers alone."""

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

import psycopg
import pytest
import redis

from querymill import Querymill, Settings
from querymill_embedded import postgres_programs
from querymill_shared.board import ValkeyBoard
from querymill_workers.backup.errors import BackupError
from querymill_workers.backup.programs import programs_for
from querymill_workers.backup.restoring import restore
from querymill_workers.backup.taking import back_up
from querymill_workers.postgres.migrate import check, migrate
from tests.fixtures.clusters import own_cluster, run_program
from tests.fixtures.command_line import CommandLine
from tests.fixtures.databases import own_database
from tests.fixtures.people import Person, document, ingestion
from tests.fixtures.poolers import pooler
from tests.fixtures.short_forms import all_at_night
from tests.fixtures.tenant_rows import fill

ROOT: Final = Path(__file__).parents[3]
ACROSS: Final = {"PGOPTIONS": "-c querymill.across=on"}
WALLED: Final = {"PGOPTIONS": "-c querymill.walled=on"}
#: Dumps that lack rows without a word: the options, the environment, a statement before, and what is said of each.
INCOMPLETE: Final[Mapping[str, tuple[list[str], Mapping[str, str], str, str]]] = {
    "a session in which the walls hide every row": ([], WALLED, "", "row-level security hid every row"),
    "without the rows of words": (["--exclude-table-data=word_*"], ACROSS, "", "word_blocks, word_entries"),
    "without a table": (["--exclude-table=reports"], ACROSS, "", "no rows of the tables reports"),
    "one table": (["--table=reports"], ACROSS, "", "document_versions"),
    "without rows": (["--schema-only"], ACROSS, "", "no rows of the tables"),
    "without the list of migrations": (["--exclude-table-data=schema_migrations"], ACROSS, "", "schema_migrations"),
    "a wall without the owner's policy": (
        [], ACROSS, "DROP POLICY all_collections ON word_entries", "hid the rows of word_entries",
    ),
    "a wall whose policy hides all": (
        [], ACROSS, "ALTER POLICY all_collections ON tombstones USING (false)", "hid the rows of tombstones",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def server(database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def source(server: psycopg.Connection, database_url: str) -> Iterator[str]:
    """A database with rows in every table."""
    with own_database(server) as name:
        url = f"{database_url.rsplit('/', 1)[0]}/{name}"
        migrate(url)
        fill(url, "fleet", 3)
        yield url


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """PATH as the command line makes it."""
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}{postgres_programs()}")


@pytest.fixture
def target(empty_url: str, valkey_url: str) -> Settings:
    """The settings of an empty database and an empty board."""
    board = valkey_url.removesuffix("/1") + "/8"
    with redis.Redis.from_url(board) as client:
        client.flushdb()
    return settings_of(empty_url, board)


def settings_of(database_url: str, board: str) -> Settings:
    return Settings.model_validate({"database_url": database_url, "redis_url": board, "mongodb_uri": ""})


@pytest.fixture
def from_source(source: str, target: Settings) -> Settings:
    return settings_of(source, target.redis_url)


@pytest.fixture
def backup(from_source: Settings, tmp_path: Path) -> Path:
    back_up(from_source, tmp_path / "backup")
    return tmp_path / "backup"


def dumped(url: str, file: Path, *options: str, environment: Mapping[str, str] = ACROSS) -> Path:
    done = run_program(
        "pg_dump", "--enable-row-security", "--format=custom", f"--file={file}", *options, url, environment=environment
    )
    assert done.returncode == 0, done.stderr
    return file


def rows(settings: Settings) -> dict[str, int]:
    with psycopg.connect(settings.database_url.get_secret_value()) as connection:
        connection.execute("SET LOCAL querymill.across = on")
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        found = {name: connection.execute(f"SELECT count(*) FROM {name}".encode()).fetchall() for (name,) in tables}
    return {name: count for name, ((count,),) in found.items()}


def refused(settings: Settings, source: Path, said: str) -> None:
    """A restoration is refused with these words, and the database stays empty."""
    with pytest.raises(BackupError, match=said):
        restore(settings, source, replace=False)
    assert rows(settings) == {}


def test_a_backup_has_every_row_and_comes_back(from_source: Settings, target: Settings, backup: Path) -> None:
    manifest = json.loads((backup / "manifest.json").read_text())
    assert {name.removeprefix("public."): count for name, count in manifest["tables"].items()} == rows(from_source)
    assert backup.stat().st_mode & 0o077 == 0
    restore(target, backup, replace=False)
    assert rows(target) == rows(from_source)
    check(target.database_url.get_secret_value())


@pytest.mark.parametrize(
    "form",
    all_at_night(
        ["--format=custom", "--format=directory", "--format=tar", "--inserts"], short=["--format=custom", "--inserts"]
    ),
)
def test_a_whole_dump_comes_back(
    source: str, from_source: Settings, target: Settings, tmp_path: Path, form: str
) -> None:
    restored = restore(target, dumped(source, tmp_path / "dump", form), replace=False)
    assert "no API keys" in restored.remarks[0]
    assert rows(target) == rows(from_source)


@pytest.mark.parametrize(
    "how", all_at_night(INCOMPLETE, short=["without a table", "a session in which the walls hide every row"])
)
def test_a_dump_that_is_not_whole_is_refused(
    how: str, server: psycopg.Connection, source: str, target: Settings, tmp_path: Path
) -> None:
    options, environment, statement, said = INCOMPLETE[how]
    with psycopg.connect(source, autocommit=True) as connection:
        for change in filter(None, [statement]):
            connection.execute(change.encode())
        file = dumped(source, tmp_path / "dump", *options, environment=environment)
    if statement:
        mend(source)
    refused(target, file, f"is not whole.*{said}")


def mend(source: str) -> None:
    """Put up the walls that a test lowered."""
    with psycopg.connect(source) as connection:
        connection.execute("DROP POLICY IF EXISTS all_collections ON tombstones")
    migrate(source)


def cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size * 2 // 3)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (cut, "is not whole|could not read"),
        (lambda path: path.write_bytes(b""), "input file"),
        (lambda path: path.write_text("--\n-- PostgreSQL database dump\n--\n\n" * 99), "--format=custom"),
        (lambda path: path.write_bytes(b"PK\x03\x04" * 999), "--format=custom"),
        (lambda path: path.unlink(), "no such file"),
    ],
)  # fmt: skip
def test_a_dump_that_cannot_be_read_is_refused(
    source: str, target: Settings, tmp_path: Path, spoil: Callable[[Path], object], said: str
) -> None:
    file = dumped(source, tmp_path / "dump")
    spoil(file)
    refused(target, file, said)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def newer(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"format": 99}))


SPOILT: Final[Mapping[str, tuple[Callable[[Path], object], str]]] = {
    "no manifest": (lambda folder: (folder / "manifest.json").unlink(), "has no manifest.json"),
    "no dump": (lambda folder: (folder / "postgres.dump").unlink(), "postgres.dump: is missing"),
    "no board": (lambda folder: (folder / "board.jsonl.gz").unlink(), "board.jsonl.gz: is missing"),
    "a dump that was cut": (lambda folder: cut(folder / "postgres.dump"), "bytes instead of"),
    "a byte of the dump": (lambda folder: flip(folder / "postgres.dump"), "has changed"),
    "a byte of the board": (lambda folder: flip(folder / "board.jsonl.gz"), "has changed"),
    "a manifest that was cut": (lambda folder: cut(folder / "manifest.json"), "is not the manifest"),
    "a manifest of nothing": (lambda folder: (folder / "manifest.json").write_text("{}"), "is not the manifest"),
    "a newer format": (newer, "format: 99"),
}


def test_a_folder_that_is_not_a_whole_backup_is_refused(target: Settings, backup: Path) -> None:
    for name, (spoil, said) in SPOILT.items():
        spoilt = backup.with_name(name)
        shutil.copytree(backup, spoilt)
        spoil(spoilt)
        refused(target, spoilt, said)
    refused(target, backup.rename(backup.with_name("backup.partial")), "interrupted")


def test_a_target_that_holds_something_is_refused_unless_it_is_to_be_replaced(
    from_source: Settings, target: Settings, backup: Path
) -> None:
    url = target.database_url.get_secret_value()
    migrate(url)  # a schema without documents is no reason to refuse
    fill(url, "other", 2)
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE orders (id int); INSERT INTO orders VALUES (7)")  # of another program
    with pytest.raises(BackupError, match=r"DATABASE_URL: the database is not empty.*--replace"):
        restore(target, backup, replace=False)
    restore(target, backup, replace=True)
    assert rows(target) == rows(from_source) | {"orders": 1}


def test_what_only_an_administrator_can_do_is_told_before_anything_is_deleted(target: Settings, backup: Path) -> None:
    with own_cluster() as server, redis.Redis.from_url(target.redis_url) as client, Querymill(settings=target) as mill:
        with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
            connection.execute("CREATE ROLE somebody LOGIN")
            connection.execute("CREATE DATABASE unprepared OWNER somebody")
        mill.submit(ingestion("reports", "c", document("reports", Person.new())))
        held = set(client.scan_iter())
        unprepared = settings_of(f"postgresql://somebody@{server.rpartition('@')[2]}/unprepared", target.redis_url)
        with pytest.raises(BackupError, match=r"an administrator must run in this database: .*restore again"):
            restore(unprepared, backup, replace=True)
        assert held <= set(client.scan_iter())


def test_the_board_is_emptied_only_once_the_database_is_restored(
    target: Settings, backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restoration that fails on the way, such as of a full disk, is repeated, and jobs are not lost by the first."""
    folder = tmp_path / "bin"
    folder.mkdir()
    wrapper = folder / "pg_restore"
    (folder / "pg_dump").symlink_to(postgres_programs() / "pg_dump")
    wrapper.write_text(
        f"""#!/bin/sh
case "$*" in
  *--single-transaction*) echo "pg_restore: could not extend file: No space left on device" >&2; exit 1;;
esac
exec {postgres_programs() / "pg_restore"} "$@"
"""
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    with Querymill(settings=target) as mill, redis.Redis.from_url(target.redis_url) as client:
        mill.submit(ingestion("reports", "c", document("reports", Person.new())))
        held = set(client.scan_iter())
        with pytest.raises(BackupError, match=r"No space left.*make room.*--replace"):
            restore(target, backup, replace=True)
        assert held <= set(client.scan_iter())


def test_a_board_with_a_job_is_refused_unless_it_is_to_be_replaced(target: Settings, backup: Path) -> None:
    with Querymill(settings=target) as mill:
        job = mill.submit(ingestion("reports", "c", document("reports", Person.new())))
    refused(target, backup, "REDIS_URL: the board holds jobs")
    restore(target, backup, replace=True)
    with closing(ValkeyBoard.connect(target)) as board:
        assert job.id not in board.recent(limit=99)
        kinds = {board.picture(id_).record.kind for id_ in board.recent(limit=99)}
    assert kinds <= {"embed_documents"}  # for what lacks vectors


def test_a_restoration_waits_for_no_worker(target: Settings, backup: Path) -> None:
    with closing(ValkeyBoard.connect(target)) as board:
        board.beat("search-1@web#1", {"name": "search-1@web"})
    refused(target, backup, "workers run .search-1@web.: stop them")


def test_a_folder_that_exists_is_not_written_into(from_source: Settings, backup: Path) -> None:
    with pytest.raises(BackupError, match="exists already; name a folder that does not"):
        back_up(from_source, backup)
    backup.with_name("other.partial").mkdir()
    with pytest.raises(BackupError, match=r"another backup is being written here, or was interrupted; .* remove it"):
        back_up(from_source, backup.with_name("other"))


def test_a_backup_that_is_killed_has_not_the_name_of_a_whole_one(from_source: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    environment = {
        "DATABASE_URL": from_source.database_url.get_secret_value(), "REDIS_URL": from_source.redis_url
    }  # fmt: skip
    running = CommandLine(environment).begin("backup", folder)
    partial, until = folder.with_name("backup.partial"), time.monotonic() + 60
    while not (partial / "board.jsonl.gz").exists():
        assert time.monotonic() < until
        time.sleep(0.001)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert not folder.exists()
    assert partial.exists()


def test_a_backup_that_fails_leaves_nothing(target: Settings, tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="DATABASE_URL: the database has no schema"):
        back_up(target, tmp_path / "backup")
    assert list(tmp_path.iterdir()) == []


def test_no_password_is_on_a_command_line(
    from_source: Settings, target: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The programs of PostgreSQL are wrapped by one that notes with what it was called."""
    folder, noted = tmp_path / "bin", tmp_path / "noted"
    folder.mkdir()
    for name in ("pg_dump", "pg_restore"):
        wrapper = folder / name
        wrapper.write_text(f'#!/bin/sh\necho "$0 $@" >> {noted}\nexec {postgres_programs() / name} "$@"\n')
        wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    back_up(from_source, tmp_path / "backup")
    restore(target, tmp_path / "backup", replace=False)
    calls, url = noted.read_text(), from_source.database_url.get_secret_value()
    assert "--snapshot=" in calls
    assert "--single-transaction" in calls
    assert str(psycopg.conninfo.conninfo_to_dict(url)["password"]) not in calls


def test_programs_that_are_too_old_are_named(tmp_path: Path) -> None:
    for name in ("pg_dump", "pg_restore"):
        (tmp_path / name).write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 12.1'\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(BackupError, match=r"version 99 or newer is needed .* has .*12.*install postgresql-client-99"):
        programs_for(99, searched=str(tmp_path))
    assert programs_for(12, searched=str(tmp_path)).folder == tmp_path


def test_a_pooler_that_drops_the_option_is_named(from_source: Settings, tmp_path: Path) -> None:
    url = from_source.database_url.get_secret_value()
    for ignored in ({}, {"ignore_startup_parameters": "options"}):
        with pooler(url, pool_mode="transaction", **ignored) as pooled:
            through = settings_of(pooled, from_source.redis_url)
            with pytest.raises(BackupError, match="PgBouncer"):
                back_up(through, tmp_path / "backup")
        assert list(tmp_path.iterdir()) == []


def test_a_worker_of_the_users_file_may_copy_all_but_the_api_keys(
    from_source: Settings, target: Settings, tmp_path: Path
) -> None:
    """The commands and keys of `deploy/valkey/users.acl` are enough for jobs."""
    lines = (ROOT / "deploy/valkey/users.acl").read_text().splitlines()
    (rules,) = (line.partition(" ")[2].partition(" ")[2] for line in lines if line.startswith("user worker "))
    with redis.Redis.from_url(target.redis_url) as client, Querymill(settings=target) as mill:
        client.hset("qm:keys", "web", "{}")
        job = mill.submit(ingestion("reports", "c", document("reports", Person.new())))
        # Some selectors are of a newer server; passwords are of the file's reader.
        words = [word for word in rules.split("(")[0].split() if not word.startswith("#")]
        client.execute_command("ACL", "SETUSER", "backup-test", "reset", "on", ">secret", *words)
        try:
            place = target.redis_url.rpartition("@")[2]
            as_worker = settings_of(from_source.database_url.get_secret_value(), f"redis://backup-test:secret@{place}")
            manifest = back_up(as_worker, tmp_path / "backup")
        finally:
            client.execute_command("ACL", "DELUSER", "backup-test")
        assert (manifest.board.jobs, manifest.board.has_api_keys) == (1, False)
        restored = restore(target, tmp_path / "backup", replace=True)
        assert mill.job(job.id).picture().record.state == "queued"
        assert "the board keeps the API keys that it had" in restored.remarks[0]
        assert client.hget("qm:keys", "web") == b"{}"  # without any key, a gateway would ask for none
