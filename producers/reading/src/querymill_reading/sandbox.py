"""The walls around the process that reads files: its own user, its own files, no network, no other programs, limits.

Each wall is put up where this machine has it, and none is needed for reading: on a system without any of them the
limits of memory, time and output still hold.
"""

import os
import resource
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from querymill_reading import kernel_filters
from querymill_reading.document import ReadLimits
from querymill_reading.kernel_filters import NotConfined
from querymill_reading.ocr import Ocr

#: The user that reads where the caller is root: a number without a name, so that no other program runs as it. It is
#: one of those that the conventions of Linux leave unused, and small enough for the users of a container.
READER: Final = 65_529
#: What the walls are called where they are shown. The last two hold on every system.
OWN_USER: Final = "own user"
OWN_FILES: Final = "own files"
NO_NETWORK: Final = "no network"
NO_PROGRAMS: Final = "no programs"
MEMORY: Final = "memory"
TIME: Final = "time"
#: What libraries look for outside of their own folders: shared libraries, fonts, times, and the devices of nothing.
_SYSTEM: Final = (
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/fonts", "/usr/share/zoneinfo",
    "/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types", "/dev/urandom", "/dev/random", "/dev/zero",
)  # fmt: skip
_NOTHING: Final = "/dev/null"
#: What a program that is started reads beside what came with it.
_OF_PROGRAMS: Final = ("/bin", "/usr/bin", "/usr/share", "/usr/local/share", "/etc/alternatives", "/etc/fonts")
#: The folders of whatever is installed, below that of the installation.
_INSTALLED: Final = ("bin", "lib", "lib64", "share")


def enter(folder: Path, limits: ReadLimits, ocr: Ocr | None = None) -> list[str]:
    """Put up the walls around this process, which may change files in one folder only. Return those that stand.

    With ``ocr`` the process may start programs, and read and run what lies where that one was installed.
    """
    bound(limits, may_start_programs=ocr is not None)
    stands = [*([OWN_USER] if _became_reader(folder) else [])]
    _is_put_up(kernel_filters.give_up_privileges)
    running = tuple(_places_of(ocr)) if ocr else ()
    if _is_put_up(lambda: kernel_filters.allow_files(_readable(), (folder, Path(_NOTHING)), running)):
        stands.append(OWN_FILES)
    if _is_put_up(lambda: kernel_filters.deny_calls(may_start_programs=ocr is not None)):
        stands += [NO_NETWORK] if ocr else [NO_NETWORK, NO_PROGRAMS]
    return [*stands, MEMORY, TIME]


def bound(limits: ReadLimits, *, may_start_programs: bool) -> None:
    """Bound the memory of this process, the size of its files, and, unless root runs it, the number of processes."""
    bounds = [
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, limits.unpacked_bytes),
        (resource.RLIMIT_CORE, 0),
        *([] if may_start_programs else [(resource.RLIMIT_NPROC, 0)]),
    ]
    for what, most in bounds:
        with suppress(ValueError, OSError):  # macOS refuses some of them; the time limit holds there too
            resource.setrlimit(what, (most, most))


def bound_time(seconds: float) -> None:
    """Bound the time of the processor that this process may use from now on.

    The caller ends a process that takes too long. This ends one whose caller has ended first.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime + seconds) + 2
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))


def _is_put_up(put_up: Callable[[], object]) -> bool:
    if sys.platform != "linux":
        return False
    try:
        put_up()
    except (NotConfined, OSError, AttributeError):
        return False
    return True


def _became_reader(folder: Path) -> bool:
    """Stop being root, if this process is and if the code that it still has to load is everybody's to read."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    try:
        if not _everybody_reads([path for path in _code() if path.is_dir()]):
            return False
        os.chown(folder, READER, READER)
        os.setgroups([])
        os.setresgid(READER, READER, READER)
        os.setresuid(READER, READER, READER)
    except OSError:  # a container without the right to, or without this user
        return False
    return True


def _everybody_reads(folders: Sequence[Path]) -> bool:
    os.seteuid(READER)
    try:
        return all(os.access(folder, os.R_OK | os.X_OK, effective_ids=True) for folder in folders)
    finally:
        os.seteuid(0)


def _code() -> Iterator[Path]:
    """Yield where Python and the engines are, also those that an environment has as links to another."""
    named = (sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    for folder in map(Path, dict.fromkeys([*filter(None, sys.path), *named])):
        yield folder
        if folder.is_dir():
            yield from (each.resolve() for each in folder.iterdir() if each.is_symlink())
    yield Path(sys.base_prefix, "lib")


def _readable() -> Iterator[Path]:
    yield from _code()
    yield from map(Path, _SYSTEM)


def _places_of(ocr: Ocr) -> Sequence[Path]:
    """Return where the program of an OCR finds itself, its libraries and its languages."""
    named = [ocr.environment.get(name, "") for name in ("LD_LIBRARY_PATH", "TESSDATA_PREFIX")]
    given = [Path(part) for value in named for part in value.split(os.pathsep) if part]
    installation = Path(ocr.program).resolve().parent.parent
    return [*(installation / name for name in _INSTALLED), *given, *map(Path, _OF_PROGRAMS), *_readable()]
