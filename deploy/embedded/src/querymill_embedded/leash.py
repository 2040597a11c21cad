"""Stop a temporary stack when its owner has ended. The stack's own supervisor runs this program.

An owner that is killed cannot clean up. This program watches the owner, then asks the supervisor to stop everything,
and removes the data folder.
"""

import argparse
import os
import shutil
import signal
import time
from pathlib import Path

from querymill_embedded.processes import ProcessIdentity, end_session

_POLL_S = 0.5
_STOP_WITHIN_S = 60.0


def main() -> None:
    """Wait for the owner to end, then stop the stack and remove its folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pid", type=int, required=True)
    parser.add_argument("--created", type=float, required=True)
    arguments = parser.parse_args()
    supervisor = ProcessIdentity.of(os.getppid())
    owner = ProcessIdentity(arguments.pid, arguments.created)
    while owner.is_alive():
        time.sleep(_POLL_S)
    # The supervisor stops this process too, so a child in another session does the rest.
    if os.fork() == 0:
        os.setsid()
        end_session(supervisor, arguments.data, wait_s=_STOP_WITHIN_S)
        shutil.rmtree(arguments.data, ignore_errors=True)
        os._exit(0)
    signal.pause()


if __name__ == "__main__":
    main()
