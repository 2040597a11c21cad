"""Submit questions as fast as one process can: ``python -m tests.fakes.flood COLLECTION COUNT DEADLINE_S``.

It prints a line of JSON for each: the id of the job, or when (monotonic, s) it was refused and for how long. It has the
lowest priority: on a small machine it stands for callers on other machines.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

from querymill import Overloaded, Querymill, ReportSearch

_LOWEST_PRIORITY = 19


def question(collection: str, deadline_s: float) -> ReportSearch:
    """Return a question that nobody has asked before."""
    return ReportSearch(query=f"how many ships by {uuid4().hex}", collection=collection, deadline=deadline_s)


def begin_flood(
    environment: Mapping[str, str], collection: str, count: int, deadline_s: float, told: Path
) -> subprocess.Popen[bytes]:
    """Begin a process that floods, and have it write what it was told to a file."""
    command = [sys.executable, "-m", "tests.fakes.flood", collection, str(count), str(deadline_s)]
    with told.open("wb") as output:
        return subprocess.Popen(command, env={**os.environ, **environment}, stdout=output)


def main() -> None:
    """Submit questions, and say what became of each."""
    collection, count, deadline_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    os.nice(_LOWEST_PRIORITY)
    with Querymill() as mill:
        for _ in range(count):
            try:
                told: dict[str, str | float] = {"job": mill.submit(question(collection, deadline_s)).id}
            except Overloaded as refused:
                told = {"at": time.monotonic(), "retry_after_s": refused.retry_after_s}
            print(json.dumps(told))


if __name__ == "__main__":
    main()
