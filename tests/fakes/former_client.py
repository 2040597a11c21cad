"""A client of whatever release is on the path. Requests come in as JSON lines, and go out as jobs and results.

First it submits all, and writes a line with each job's id. Then it waits for each, and writes a line with the result.
"""

import json
import sys
from typing import Any

from querymill import Querymill
from querymill_shared.contracts.events import Done
from querymill_shared.contracts.jobs import decode_request


def main() -> None:
    """Submit, then wait."""
    with Querymill() as mill:
        jobs = [mill.submit(decode_request(line)) for line in sys.stdin.read().splitlines()]
        for job in jobs:
            write(job_id=job.id)
        for job in jobs:
            try:
                result = json.loads(job.result(timeout=90).model_dump_json())
                done = [type(event) for event in job.events(timeout=5)].count(Done)
                write(job_id=job.id, result=result, done=done)
            except Exception as error:  # noqa: BLE001  # the test looks at it
                write(job_id=job.id, error=f"{type(error).__name__}: {error}"[:2000])


def write(**fields: Any) -> None:
    """Write one line."""
    print(json.dumps(fields), flush=True)


if __name__ == "__main__":
    main()
