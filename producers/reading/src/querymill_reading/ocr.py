"""The OCR that this machine has: Tesseract reads pictures of pages, in a process with limits of memory and time."""

import os
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from querymill_reading.document import Unreadable

PROGRAM: Final = "tesseract"
#: Languages in which one page is read. Each takes time and memory, and more of them misread more.
MAX_LANGUAGES: Final = 8
#: Bytes of the text of one page, and letters of what the program says of a failure.
MAX_TEXT_BYTES: Final = 4 << 20
MAX_REASON: Final = 200
#: Seconds in which the program lists its languages.
LIST_S: Final = 30.0
_LANGUAGE: Final = re.compile(r"[A-Za-z]{3}(?:_[A-Za-z]+)*")
#: What is listed beside languages: the directions of pages, equations, and lines from top to bottom.
_DIRECTIONS: Final = "osd"
_NO_LANGUAGE: Final = re.compile(rf"{_DIRECTIONS}|equ|.*_vert")
#: What the program needs to know of its user: where it finds itself, its libraries and its languages.
_KEPT: Final = ("PATH", "HOME", "LD_LIBRARY_PATH", "TESSDATA_PREFIX")


class OcrMissing(Exception):
    """Raised when this machine has no OCR, or none that can be used; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Ocr:
    """Tesseract, where it was found, with the languages that it reads.

    ``turns_pages`` if it has what it takes to find out which side of a page is up.
    """

    program: str
    languages: Sequence[str]
    turns_pages: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def found(cls) -> "Ocr":
        """Find the program on the PATH, and ask for its languages.

        Raises:
            OcrMissing: It is not there, it does not answer, or it has no language or too many.
        """
        program = shutil.which(PROGRAM)
        if program is None:
            raise OcrMissing(f"{PROGRAM} is not on the PATH: install Tesseract OCR with the languages of the documents")
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        try:
            listed = subprocess.run(
                [program, "--list-langs"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=LIST_S,
                check=True,
                env=environment,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise OcrMissing(f"{program} --list-langs: {error}") from error
        names = listed.stdout.decode(errors="replace")
        languages = languages_in(names)
        if not 0 < len(languages) <= MAX_LANGUAGES:
            raise OcrMissing(
                f"{program} has {len(languages)} languages, and a page is read in 1 to {MAX_LANGUAGES}: set"
                " TESSDATA_PREFIX to a folder with those of the documents"
            )
        return cls(program, languages, _DIRECTIONS in names.split(), environment)

    @property
    def name(self) -> str:
        """What remarks call it: the program with its languages."""
        return f"Tesseract, {'+'.join(self.languages)}"

    def text_of(self, picture: bytes, seconds: float) -> str:
        """Return the text of a picture.

        Raises:
            Unreadable: The program failed, or took longer than it may.
        """

        def bound() -> None:
            for what, most in ((resource.RLIMIT_FSIZE, MAX_TEXT_BYTES), (resource.RLIMIT_CPU, int(seconds) + 1)):
                resource.setrlimit(what, (most, most))

        turning = ("--psm", "1") if self.turns_pages else ()
        # Files, not pipes: what the program writes is bounded, and nobody waits for the other.
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as text, tempfile.TemporaryFile() as reason:
            given.write(picture)
            given.seek(0)
            try:
                ended = subprocess.run(
                    [self.program, "stdin", "stdout", "-l", "+".join(self.languages), *turning],
                    stdin=given,
                    stdout=text,
                    stderr=reason,
                    timeout=seconds,
                    check=False,
                    # One page keeps one core busy.
                    env={**self.environment, "OMP_THREAD_LIMIT": "1"},
                    preexec_fn=bound,  # safe: the process that reads files has one thread
                )
            except subprocess.TimeoutExpired:
                raise Unreadable(f"took longer than {seconds:.0f} s") from None
            except (OSError, subprocess.SubprocessError) as error:
                raise Unreadable(f"{self.program} cannot be run: {error}") from error
            if ended.returncode:
                reason.seek(0)
                said = " ".join(reason.read(MAX_TEXT_BYTES).decode(errors="replace").split())
                raise Unreadable(f"{self.program} ended with code {ended.returncode}: {said[-MAX_REASON:]}")
            text.seek(0)
            return text.read().decode(errors="replace").replace("\f", "\n").strip()


def languages_in(listed: str) -> tuple[str, ...]:
    r"""Return the languages in what ``--list-langs`` prints, English last: it is there unasked.

    >>> languages_in('List of available languages in "/x" (3):\neng\nosd\ndeu\n')
    ('deu', 'eng')
    """
    names = {name for line in listed.splitlines() if _LANGUAGE.fullmatch(name := line.strip())}
    return tuple(
        sorted((name for name in names if not _NO_LANGUAGE.fullmatch(name)), key=lambda each: (each == "eng", each))
    )
