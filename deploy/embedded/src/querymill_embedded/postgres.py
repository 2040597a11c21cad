"""PostgreSQL from its wheel: its account, its programs folder, its cluster and its command."""

import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from querymill_embedded.errors import StackError
from querymill_embedded.folders import first_closed_folder
from querymill_embedded.parts import DATABASE, LOOPBACK
from querymill_embedded.state import write_private
from querymill_embedded.wheels import POSTGRES_FOLDER, postgres_package, postgres_programs, postgres_version

SUPERUSER = "postgres"
_SERVER_ACCOUNT = "nobody"
_SMALL_SHARED_MEMORY = 1 << 30

# As on any hosted PostgreSQL, the application's role is not a superuser, so row-level security applies to it. Only a
# superuser can create pgvector, so it is created in the template: this and every later database has it.
_PREPARE = f"""
CREATE EXTENSION vector;
CREATE ROLE {DATABASE} LOGIN CREATEDB CREATEROLE;
CREATE DATABASE {DATABASE} OWNER {DATABASE} TEMPLATE template1 STRATEGY file_copy;
"""

# Of everybody, the password: there is no other way in.
_LOGIN_RULES = f"host all all {LOOPBACK}/32 scram-sha-256\n"


@dataclass(frozen=True, slots=True)
class SystemUser:
    """A system user that the server runs as, other than the current one."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """A database cluster.

    Attributes:
        folder: the part's folder, which contains the cluster as `cluster`.
        account: the user that the server runs as; None for the current user.
        durable: whether commits are flushed to the disk, so that they survive a power cut. A crash of the
            processes loses nothing either way.
    """

    folder: Path
    account: SystemUser | None
    durable: bool

    @property
    def data(self) -> Path:
        """PostgreSQL's data directory."""
        return self.folder / "cluster"


def server_account(euid: int) -> SystemUser | None:
    """Return the account to run the server as, or None for the current user. PostgreSQL refuses to run as root.

    Raises:
        StackError: the current user is root, and the system has no user `nobody`.
    """
    if euid != 0:
        return None
    try:
        entry = pwd.getpwnam(_SERVER_ACCOUNT)
    except KeyError:
        message = f"postgres refuses to run as root, and there is no user {_SERVER_ACCOUNT!r}; run as another user"
        raise StackError(message) from None
    return SystemUser(entry.pw_name, entry.pw_uid, entry.pw_gid)


def check_data_folder(data: Path, account: SystemUser | None) -> None:
    """Check that the server's account can reach its files.

    Raises:
        StackError: it cannot; the message names the closed folder and the remedy.
    """
    if account is None:
        return
    closed = first_closed_folder(data, uid=account.uid, gids=[account.gid])
    if closed is not None:
        raise StackError(
            f"postgres cannot use {data}: under root it runs as the user {account.name!r}, which may not enter"
            f" {closed}; run `chmod o+x {closed}` or choose a data folder elsewhere"
        )


def programs_folder(account: SystemUser | None) -> Path:
    """Return the `bin` folder: that of the wheel, or of a copy if the server's account cannot enter the wheel's."""
    package, binaries = postgres_package(), postgres_programs()
    if account is None or first_closed_folder(binaries, uid=account.uid, gids=[account.gid]) is None:
        return binaries
    copy = Path(tempfile.gettempdir()) / f"querymill-postgres-{postgres_version()}-{os.geteuid()}"
    copy_programs(package, copy)
    return copy / package.name / POSTGRES_FOLDER / "bin"


def copy_programs(package: Path, copy: Path) -> None:
    """Copy PostgreSQL and its libraries, readable by every user, unless the copy exists.

    Programs find their libraries by relative paths, so the copy keeps their places.

    Raises:
        StackError: another user owns the folder or could write to it.
    """
    if not copy.is_symlink() and not copy.exists():
        new = Path(tempfile.mkdtemp(prefix=copy.name, dir=copy.parent))
        shutil.copytree(package / POSTGRES_FOLDER, new / package.name / POSTGRES_FOLDER, symlinks=True)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, new / libraries.name)
        _open_to_all(new)
        try:
            new.rename(copy)
        except OSError:
            # Another process was first. Its copy will do if it passes the check below.
            shutil.rmtree(new)
    _check_ours(copy)


def create_cluster(cluster: Cluster, binaries: Path) -> None:
    """Create cluster, role and database in the part's folder, unless they exist.

    If an earlier call was interrupted, this one starts over.

    Raises:
        StackError: one of PostgreSQL's programs failed; the message holds its output.
    """
    if cluster.account is not None:
        os.chown(cluster.folder, cluster.account.uid, cluster.account.gid)
    if cluster.data.exists():
        return
    new = cluster.folder / "new"
    if new.exists():
        shutil.rmtree(new)
    initialise = [str(binaries / "initdb"), f"--pgdata={new}", f"--username={SUPERUSER}", "--auth=reject"]
    # The built-in locale does not depend on the system, yet knows letters beyond ASCII.
    initialise += ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    initialise += ["--no-instructions", *([] if cluster.durable else ["--no-sync"])]
    _run(initialise, cluster)
    _run(_single(cluster, binaries, new), cluster, statements="\n\n".join(_PREPARE.strip().splitlines()) + "\n\n")
    new.rename(cluster.data)


def demand_password(cluster: Cluster, binaries: Path, password: str) -> None:
    """Give the application's role a password, and let nobody log in without one. The server must not run.

    The superuser gets no password, so nobody logs in as the superuser.

    Raises:
        StackError: one of PostgreSQL's programs failed; the message holds its output without the password.
    """
    statements = (
        f"ALTER ROLE {DATABASE} PASSWORD '{password}';",
        f"ALTER ROLE {SUPERUSER} PASSWORD NULL;",
    )
    try:
        _run(_single(cluster, binaries, cluster.data), cluster, statements="\n\n".join((*statements, "")))
    except StackError as error:
        raise StackError(str(error).replace(password, "***")) from None
    rules = cluster.data / "pg_hba.conf"
    write_private(rules, _LOGIN_RULES)
    if cluster.account is not None:
        os.chown(rules, cluster.account.uid, cluster.account.gid, follow_symlinks=False)


def server_command(cluster: Cluster, binaries: Path, port: int) -> tuple[str, ...]:
    """Return the command of the server: in the foreground, on the loopback only, sized for a small machine."""
    settings = {
        "listen_addresses": LOOPBACK,
        "unix_socket_directories": "",
        "shared_buffers": "256MB",
        "maintenance_work_mem": "128MB",
        "max_connections": "100",
        "dynamic_shared_memory_type": _dynamic_shared_memory(),
        "timezone": "UTC",
        "log_timezone": "UTC",
    }
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    command = [str(binaries / "postgres"), "-D", str(cluster.data), "-p", str(port), *options]
    return (*command, *_flush_options(cluster.durable))


def _single(cluster: Cluster, binaries: Path, data: Path) -> list[str]:
    # The server for one user, without a port: it reads statements from its input.
    command = [str(binaries / "postgres"), "--single", "-j", *_flush_options(cluster.durable)]
    return [*command, "-D", str(data), "template1"]


def _flush_options(durable: bool) -> list[str]:  # noqa: FBT001 - the meaning is in the name of the function
    return [] if durable else ["-c", "fsync=off"]


def _dynamic_shared_memory() -> str:
    # Containers often have 64 MB of shared memory, too little to build a vector index in parallel.
    shared = Path("/dev/shm")  # noqa: S108 - looked at, not written
    small = shared.is_dir() and shutil.disk_usage(shared).total < _SMALL_SHARED_MEMORY
    return "mmap" if small else "posix"


def _run(command: list[str], cluster: Cluster, *, statements: str = "") -> None:
    account = cluster.account
    finished = subprocess.run(
        command,
        input=statements,
        user=None if account is None else account.uid,
        group=None if account is None else account.gid,
        extra_groups=None if account is None else [],
        cwd=cluster.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    # The single-user server prints a failed statement but exits with 0.
    if finished.returncode != 0 or "ERROR:" in finished.stderr:
        output = f"{finished.stdout}\n{finished.stderr}".strip()
        raise StackError(f"postgres could not be created: {Path(command[0]).name} failed:\n{output}")


def _open_to_all(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if path.is_symlink():
            continue
        mode = stat.S_IMODE(path.stat().st_mode)
        executable = path.is_dir() or mode & stat.S_IXUSR
        path.chmod(0o755 if executable else 0o644)


def _check_ours(folder: Path) -> None:
    entry = folder.lstat()
    ours = stat.S_ISDIR(entry.st_mode) and entry.st_uid == os.geteuid()
    if not ours or entry.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise StackError(f"{folder}: must be a folder that only the current user can write; remove it and start again")
