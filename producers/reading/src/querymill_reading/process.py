"""Reading in a process of its own, within walls and limits. The gateway and the command line use it alike."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Self

from querymill_reading.document import Document, EngineMissing, ReadLimits, Unreadable
from querymill_reading.handing import HandingFolder
from querymill_reading.ocr import Ocr

#: After so many files the process is replaced, so that what an engine leaks does not add up.
FILES_A_PROCESS: Final = 200
#: Bytes of an answer: as many as a character may take in JSON, for each, and more for all that is not text.
BYTES_A_CHARACTER: Final = 12
MORE_ANSWER_BYTES: Final = 16 << 20
#: Seconds in which a new process answers its first request: it imports the engines.
START_S: Final = 30.0
#: Pages of a file that may end the process or take too long. Each is left out, and the file is read again without it.
MAX_LOST: Final = 2


class _Lost(Unreadable):
    """Raised when the process was lost over a page, or must be ended."""


class FileReader:
    """Reads files, one at a time, in a process that is started when it is needed. Not for several threads at once."""

    def __init__(self, limits: ReadLimits | None = None) -> None:
        self.limits = limits or ReadLimits()
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: HandingFolder | None = None
        self._ocr: Ocr | None = None
        self._files = 0
        self._unread = bytearray()
        self._is_over = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the process now, so that it is ready once there is something to read."""
        self._started()

    def walls(self) -> Sequence[str]:
        """Return the walls that stand around the process on this machine, as `sandbox.enter` names them.

        Raises:
            Unreadable: It does not start.
        """
        self.close()
        process, _ = self._started()
        named: list[str] = self._line(process, START_S, 0)["walls"]
        self.close()
        return named

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # the OCR that it runs, too
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
        folder, self._folder = self._folder, None
        if folder is not None:
            folder.remove()

    def give_up(self) -> None:
        """End what another thread reads; nothing is read after it."""
        self._is_over = True  # first: that thread may be starting the process
        self.close()

    def read(
        self,
        path: Path,
        *,
        name: str = "",
        password: str | None = None,
        on_page: Callable[[int], None] = lambda _: None,
        ocr: Ocr | None = None,
    ) -> Document:
        """Read a file. ``name`` is what its owner calls it; ``on_page`` is told of each page, ``ocr`` reads pictures.

        Pages that end the process or take too long are remarks, as long as they are few and the time of the file lasts.

        Raises:
            Unreadable: It gives no document, or reading it exceeded a limit; `EngineMissing` if its engine is missing,
                `NoRoom` if the temporary folder has no room for a copy of it.
        """
        lost: dict[int, str] = {}
        ends = time.monotonic() + self.limits.seconds + (self.limits.ocr_seconds if ocr else 0)
        asked = {"name": name or path.name, "password": password, "ocr": ocr and asdict(ocr)}
        while True:
            try:
                answer = self._asked(path, {**asked, "lost": list(lost.items())}, on_page, ends, ocr=ocr)
                return Document.from_json(answer["document"])
            except _Lost as error:
                if not error.page or len(lost) == MAX_LOST or time.monotonic() >= ends:
                    raise
                lost[error.page] = error.reason

    def unpack(self, archive: Path, into: Path) -> list[tuple[str, str]]:
        """Unpack an archive into a folder; returns its members, each with the reason why it was left out, or "".

        Raises:
            Unreadable: It is broken, or holds more than the limits allow.
        """
        try:
            answer = self._asked(archive, {"unpack": True}, is_archive=True)
            members = [(name, why) for name, why in answer["members"]]
            if self._folder is not None:
                self._folder.take([name for name, why in members if not why], into)
            return members
        finally:
            if self._folder is not None:
                self._folder.clear()

    def draw(self, path: Path, number: int, *, sha256: str) -> bytes:
        """Return a page of a PDF file, from 1, as a PNG picture, if the content of the file has that hash.

        Raises:
            Unreadable: It has another, or no such page, or drawing exceeded a limit; `EngineMissing` if the engine is
                missing.
        """
        answer = self._asked(path, {"draw": number, "sha256": sha256})
        return b64decode(answer["picture"])

    def _asked(
        self,
        path: Path,
        request: Mapping[str, Any],
        on_page: Callable[[int], None] = lambda _: None,
        ends: float | None = None,
        *,
        ocr: Ocr | None = None,
        is_archive: bool = False,
    ) -> dict[str, Any]:
        """Have the process do what is asked with a copy of a file."""
        ends = time.monotonic() + self.limits.seconds if ends is None else ends
        process, folder = self._started(ocr)
        copy = folder.put(path, None if is_archive else self.limits.file_bytes)
        try:
            asked = {**request, "path": str(copy), "into": str(folder.unpacked)}
            answer = self._answer(process, asked, on_page, ends, is_recognised=ocr is not None)
        finally:
            copy.unlink(missing_ok=True)
        if "exhausted" in answer:
            self.close()
        if "unreadable" in answer:
            raised = EngineMissing if "missing" in answer else _Lost if "exhausted" in answer else Unreadable
            raise raised(answer["unreadable"].replace(str(copy), path.name), answer["page"])
        return answer

    def _answer(
        self,
        process: subprocess.Popen[bytes],
        asked: Mapping[str, Any],
        on_page: Callable[[int], None],
        ends: float,
        *,
        is_recognised: bool,
    ) -> dict[str, Any]:
        """Return the answer to a request. A process that gives none is ended."""
        self._files += 1
        page = 0
        a_page = self.limits.seconds_a_page + (self.limits.ocr_seconds_a_page if is_recognised else 0)
        patience = a_page + START_S
        try:
            assert process.stdin is not None  # noqa: S101  # it was made with a pipe
            process.stdin.write(json.dumps(asked).encode() + b"\n")
            process.stdin.flush()
            while True:
                answer: dict[str, Any] = self._line(process, min(patience, ends - time.monotonic()), page)
                if "walls" in answer:
                    continue
                patience = a_page
                if "page" not in answer or "unreadable" in answer:
                    return answer
                page = answer["page"]
                on_page(page)
        except (Unreadable, OSError, ValueError, TypeError) as error:
            self.close()
            if isinstance(error, Unreadable):
                raise
            raise _Lost(f"the process that read it ended: {error}", page) from error

    def _line(self, process: subprocess.Popen[bytes], seconds: float, page: int) -> Any:
        """Return the next answer."""
        assert process.stdout is not None  # noqa: S101  # it was made with a pipe
        ends = time.monotonic() + seconds
        waiting = select.poll()
        waiting.register(process.stdout, select.POLLIN)
        searched = 0
        while (end := self._unread.find(b"\n", searched)) < 0:
            searched = len(self._unread)
            if searched > self.limits.characters * BYTES_A_CHARACTER + MORE_ANSWER_BYTES:
                raise Unreadable("its text is too long", page)
            if not waiting.poll(max(ends - time.monotonic(), 0) * 1000):
                raise _Lost(f"reading it took longer than {max(seconds, 0):.0f} s", page)
            piece = os.read(process.stdout.fileno(), 1 << 20)
            if not piece:
                raise _Lost(_how_it_ended(process, self.limits), page)
            self._unread += piece
        line = bytes(self._unread[:end])
        del self._unread[: end + 1]
        return json.loads(line)

    def _started(self, ocr: Ocr | None = None) -> tuple[subprocess.Popen[bytes], HandingFolder]:
        """Return the process with its folder; a new one if there is none, or if that one may not run this OCR."""
        if self._files >= FILES_A_PROCESS or (ocr is not None and ocr != self._ocr):
            self.close()
        if self._process is None or self._folder is None:
            self._unread.clear()
            self._files, self._ocr = 0, ocr
            self._folder = HandingFolder()
            given = {"limits": asdict(self.limits), "folder": str(self._folder.path), "ocr": ocr and asdict(ocr)}
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-m", "querymill_reading.child", json.dumps(given)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                env={"TMPDIR": str(self._folder.path)},
                process_group=0,
            )
        process, folder = self._process, self._folder
        if self._is_over:
            self.close()
            raise Unreadable("given up")
        return process, folder


def _how_it_ended(process: subprocess.Popen[bytes], limits: ReadLimits) -> str:
    with suppress(subprocess.TimeoutExpired):
        process.wait(5)
    code = process.returncode
    if code is not None and code < 0:
        return f"reading it ended the process (signal {-code}; it may use {limits.memory_bytes >> 20} MB of memory)"
    return f"reading it ended the process (code {code})"
