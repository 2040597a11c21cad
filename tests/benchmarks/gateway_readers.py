"""A process of readers: so many streams of one gateway, each of a job, and when each event came.

    python -m tests.benchmarks.gateway_readers URL IDS_FILE

It prints a line when everybody reads, and then one JSON object when all streams have ended.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

PATIENCE_S = 240.0


class Readers:
    """What the readers saw: how late each event came, and how many came to each job."""

    def __init__(self, url: str) -> None:
        self._at = urlsplit(url)
        self.delays_ms: list[float] = []
        self.events = 0
        self.begun = 0

    async def read(self, job_id: str) -> None:
        """Read one stream to its end. It is plain HTTP: a client of a library would be what is measured."""
        reader, writer = await asyncio.open_connection(self._at.hostname, self._at.port)
        try:
            head = f"GET /v1/jobs/{job_id}/events HTTP/1.1\r\nHost: {self._at.netloc}\r\nConnection: close\r\n\r\n"
            writer.write(head.encode())
            while line := await reader.readline():
                self._take(line)
        finally:
            writer.close()

    def _take(self, line: bytes) -> None:
        if line.startswith(b"retry:"):
            self.begun += 1
        elif line.startswith(b"data: "):
            came = time.time()
            event = json.loads(line[6:])
            self.events += 1
            if event["type"] == "progress":
                # The benchmark writes when it told the event where a worker names its step.
                self.delays_ms.append((came - float(event["stage"])) * 1000)


async def run(url: str, job_ids: list[str]) -> Readers:
    """Read all streams at once."""
    readers = Readers(url)
    tasks = [asyncio.create_task(readers.read(job_id)) for job_id in job_ids]
    while readers.begun < len(tasks):
        await asyncio.sleep(0.1)
    print("reading", flush=True)
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*tasks)
    return readers


def main() -> None:
    """Read and report."""
    url, ids = sys.argv[1:]
    readers = asyncio.run(run(url, json.loads(Path(ids).read_text(encoding="utf-8"))))
    print(json.dumps({"delays_ms": readers.delays_ms, "events": readers.events}), flush=True)


if __name__ == "__main__":
    main()
