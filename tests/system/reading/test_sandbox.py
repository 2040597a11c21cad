"""The walls around the process that reads files: a parser that a file has taken over gets nowhere."""

import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from querymill_reading import process, sandbox
from querymill_reading.document import ReadLimits, Unreadable
from querymill_reading.handing import HandingFolder
from querymill_reading.kernel_filters import call_filter
from querymill_reading.ocr import Ocr
from querymill_reading.process import FileReader
from tests.fakes import hostile_reader
from tests.fixtures import documents

LIMITS = ReadLimits(memory_bytes=1 << 30, unpacked_bytes=1 << 20, characters=10_000, seconds=20)
#: The Python of the system, whose code every user may read.
SYSTEM_PYTHON = Path("/usr/bin/python3")
SOURCES = Path(process.__file__).parents[1]


@pytest.fixture(scope="module")
def walls() -> Sequence[str]:
    """The walls that this machine has."""
    with FileReader() as reader:
        return reader.walls()


@pytest.fixture
def attack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Have a reader do something that a file tells it to. Return what came of it."""
    python = tmp_path / "python"
    command = shlex.join([sys.executable, "-P", hostile_reader.__file__])
    python.write_text(f'#!/bin/sh\nPYTHONPATH={Path(__file__).parents[3]} exec {command} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    told = tmp_path / "told.txt"

    with FileReader(LIMITS) as reader:

        def done(what: str, target: object = "") -> str:
            told.write_text(json.dumps([what, str(target)]))
            return reader.read(told).pages[0].text

        yield done


def test_a_parser_has_its_own_folder_and_bounded_time(attack: Callable[..., str]) -> None:
    assert attack("write", "own") == "done: 8"
    seconds = int(attack("time").removeprefix("done: "))
    assert LIMITS.seconds <= seconds < 3 * LIMITS.seconds


def test_limits_of_memory_of_files_and_of_text_hold_on_every_system(attack: Callable[..., str]) -> None:
    with pytest.raises(Unreadable, match="needs more than 1024 MB of memory"):
        attack("allocate", 2 << 30)
    with pytest.raises(Unreadable, match="File too large"):
        attack("fill the disk", 2 << 20)
    with pytest.raises(Unreadable, match="more than 10000 characters"):
        attack("talk", 1_000_000)
    with pytest.raises(Unreadable, match="its text is too long"):
        attack("shout", 20_000_000)
    assert attack("time").startswith("done: ")


def test_a_parser_reaches_no_network(attack: Callable[..., str], walls: Sequence[str]) -> None:
    if sandbox.NO_NETWORK not in walls:
        pytest.skip("this machine has no such wall")
    with socket.create_server(("127.0.0.1", 0)) as server:
        for what in ("connect", "pair"):
            with pytest.raises(Unreadable, match="PermissionError"):
                attack(what, server.getsockname()[1])


def test_a_parser_starts_no_program_and_reaches_no_other_process(
    attack: Callable[..., str], walls: Sequence[str]
) -> None:
    if sandbox.NO_PROGRAMS not in walls:
        pytest.skip("this machine has no such wall")
    for what in ("fork", "run", "signal"):
        with pytest.raises(Unreadable, match=r"PermissionError|BlockingIOError"):
            attack(what, "/bin/true")


def test_a_parser_sees_and_changes_no_file_of_others(
    attack: Callable[..., str], walls: Sequence[str], tmp_path: Path
) -> None:
    if sandbox.OWN_FILES not in walls:
        pytest.skip("this machine has no such wall")
    secret = tmp_path / "secret.txt"
    secret.write_text("sesame")
    targets = {"read": secret, "list": tmp_path, "write": tmp_path / "new.txt", "remove": secret}
    for what, target in {**targets, "look into its caller": ""}.items():
        with pytest.raises(Unreadable, match="PermissionError"):
            attack(what, target)
    assert (secret.read_text(), (tmp_path / "new.txt").exists()) == ("sesame", False)


def test_where_root_reads_the_process_is_another_user() -> None:
    if os.geteuid() != 0 or not SYSTEM_PYTHON.exists() or SOURCES.stat().st_mode & 0o5 != 0o5:
        pytest.skip("root, a Python of the system and sources that everybody reads are needed")
    handing = HandingFolder()
    folder = handing.path
    code = f"""if True:
        import os, sys
        sys.path.insert(0, {str(SOURCES)!r})
        from pathlib import Path
        from querymill_reading.document import ReadLimits
        from querymill_reading.sandbox import READER, enter
        walls = enter(Path({str(folder)!r}), ReadLimits())
        assert os.getresuid() == os.getresgid() == (READER,) * 3 and os.getgroups() == [], os.getresuid()
        Path({str(folder)!r}, "own").write_text("mine")
        try:
            os.setuid(0)
        except PermissionError:
            print(*walls, sep=",")
    """
    try:
        done = subprocess.run([SYSTEM_PYTHON, "-I", "-c", code], capture_output=True, text=True, check=False)
        assert done.stdout.startswith(sandbox.OWN_USER), done.stderr
        assert (folder / "own").stat().st_uid == sandbox.READER
    finally:
        handing.remove()


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_jump_of_the_filter_stays_in_it(machine: str) -> None:
    for may_start_programs in (False, True):
        program = call_filter(machine, 7, may_start_programs=may_start_programs)
        assert len(program) < 4096
        assert all(
            at + 1 + max(then, otherwise) < len(program) for at, (_, then, otherwise, _) in enumerate(program[:-1])
        )


def test_on_a_machine_whose_calls_are_unknown_the_other_walls_stand(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code = f"""if True:
        import platform
        from pathlib import Path
        from querymill_reading import kernel_filters
        from querymill_reading.document import ReadLimits
        from querymill_reading.sandbox import enter
        platform.machine = lambda: "vax"
        print(*enter(Path({str(tmp_path)!r}), ReadLimits()), sep=",")
    """
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert sandbox.NO_NETWORK not in done.stdout
    assert done.stdout.strip().endswith("memory,time")


def test_an_ocr_runs_within_the_walls_and_sees_no_file_of_others(tmp_path: Path) -> None:
    installed, secret = tmp_path / "app" / "bin", tmp_path / "secret.txt"
    installed.mkdir(parents=True)
    secret.write_text("sesame")
    program = installed / "tesseract"
    # What it reads it writes, and nothing that is not its own.
    program.write_text(f"#!/bin/sh\necho from the scan\ncat {secret}\nexit 0\n")
    program.chmod(0o755)
    scan = tmp_path / "scan.pdf"
    scan.write_bytes(documents.pdf([], pictures={1: [(0, 0, 612, 500)]}))
    with FileReader() as reader:
        walls = reader.walls()
        text = reader.read(scan, ocr=Ocr(str(program), ("eng",))).pages[0].text
    assert ("from the scan" in text, "sesame" in text) == (True, sandbox.OWN_FILES not in walls)
