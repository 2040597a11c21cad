"""Reads golden files with whatever release is on the path, and prints what it cannot read.

Usage: former_reader.py FOLDER, with the board's server in REDIS_URL, where the job JOB_ID is.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.events import decode_event
from querymill_shared.contracts.jobs import decode_request, decode_result
from querymill_shared.settings import Settings
from querymill_workers.jobs.bell_codec import Rung, heard

#: The folder of what that release writes.
FORMER: Final = "0.1.0"
READ: Final[dict[str, Callable[[str], Any]]] = {
    "requests": decode_request,
    "results": decode_result,
    "events": decode_event,
}


def main(folder: Path, job_id: str) -> None:
    """Read all that the release may meet, and print a line for what cannot be read.

    A kind that it never had, and a newer version of a request, is left to workers that know them.
    """
    for name, read in READ.items():
        known = json.loads((folder.parent / FORMER / f"{name}.json").read_text())
        for entry, written in json.loads((folder / f"{name}.json").read_text()).items():
            if entry not in known or written.get("version", 1) > 1:
                continue
            try_to(f"{name} {entry}", lambda read=read, written=written: read(json.dumps(written)))  # type: ignore[misc]
    for entry, written in json.loads((folder / "bells.json").read_text()).items():
        task = f"querymill.{entry.split(' ')[1]}.v1"
        if not isinstance(heard(json.dumps(written).encode(), task), Rung):
            print(f"bells {entry}")
    board = ValkeyBoard.connect(Settings())
    try_to("picture", lambda: board.picture(job_id))
    try_to("events", lambda: board.events(job_id))
    board.close()


def try_to(name: str, read: Callable[[], Any]) -> None:
    """Print the name if reading raises."""
    try:
        read()
    except Exception as error:  # noqa: BLE001  # the test looks at it
        print(f"{name}: {type(error).__name__} {error}"[:500])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
