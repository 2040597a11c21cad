"""Ends a temporary stack whose owner is gone: `python -m querymill_embedded.leash`, itself supervised in that stack.

An owner that is killed cannot clean up after itself. This program watches it, asks the supervisor to stop everything,
and removes the folder.
"""

import argparse
import os
import shutil
import signal
import time
from pathlib import Path

from querymill_embedded.processes import ProcessIdentity, end_session

_LOOK_EVERY_S = 0.5
_STOP_WITHIN_S = 60.0


def main() -> None:
    """Watch the owner; when it is gone, end the stack and remove its folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pid", type=int, required=True)
    parser.add_argument("--created", type=float, required=True)
    arguments = parser.parse_args()
    supervisor = ProcessIdentity.of(os.getppid())
    owner = ProcessIdentity(arguments.pid, arguments.created)
    while owner.is_alive():
        time.sleep(_LOOK_EVERY_S)
    # The supervisor's end is also the end of this process: the rest is for a child outside of its session.
    if os.fork() == 0:
        os.setsid()
        end_session(supervisor, arguments.data, wait_s=_STOP_WITHIN_S)
        shutil.rmtree(arguments.data, ignore_errors=True)
        os._exit(0)
    signal.pause()


if __name__ == "__main__":
    main()
