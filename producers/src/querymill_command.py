"""The program `querymill`. A module of its own, so that it answers Ctrl-C while the command line is being loaded."""

import os
import signal
import sys
from importlib.metadata import version
from types import FrameType
from typing import Final

#: What the shell sees of a program that was interrupted.
INTERRUPTED: Final = 128 + signal.SIGINT


def main() -> None:
    """Load the command line and run it."""
    if sys.argv[1:] == ["--version"]:  # nothing else needs to be loaded for it
        sys.stdout.write(f"{version('querymill')}\n")
        return
    if sys.argv[1:] == ["--help"]:
        from querymill.cli.summaries import help_text

        sys.stdout.write(help_text(sys.stdout.isatty()))
        return
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else the caller wants it to be ignored
        signal.signal(signal.SIGINT, _stop)
    from querymill.cli.main import main as run

    try:
        run()
    except ModuleNotFoundError as error:
        if error.name != "redis":
            raise
        from querymill.install_hints import install_hint

        sys.exit(f"the commands need the board's client, which is not installed; {install_hint('board')}")


def begin() -> None:
    """Let the command that is loaded answer Ctrl-C itself."""
    if signal.getsignal(signal.SIGINT) is _stop:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _stop(_: int, __: FrameType | None) -> None:
    """End at once: an exception could be caught, or told as a traceback, by what is being imported."""
    sys.stderr.write("Interrupted before the command began: nothing was done.\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)
