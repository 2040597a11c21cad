"""The part of the board in memory that forgets texts: see `forgetting`."""

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence

from querymill_shared.board.forgetting import Kept, Listed, Scrubbed
from querymill_shared.board.memory_job import MemoryJob
from querymill_shared.board.memory_joining import SharedWork
from querymill_shared.contracts.jobs import JobRequest


class MemoryForgetting:
    """What `MemoryBoard` does to the jobs of forgotten documents."""

    _jobs: dict[str, MemoryJob]
    _changed: threading.RLock
    _shared: SharedWork

    def _live(self, job_id: str) -> MemoryJob | None:
        raise NotImplementedError

    def jobs_of(self, collection: str) -> Iterator[Listed]:
        """See `Board.jobs_of`."""
        with self._changed:
            records = [job.record for job in self._jobs.values() if job.record.collection == collection]
        yield from (Listed(record.job_id, record.kind, record.state) for record in records)

    def forget_jobs(self, job_ids: Collection[str]) -> int:
        """See `Board.forget_jobs`."""
        with self._changed:
            return sum(self._shared.forget(job) for job_id in job_ids if (job := self._live(job_id)) is not None)

    def trim_job(self, job_id: str, request: JobRequest) -> bool:
        """See `Board.trim_job`."""
        with self._changed:
            job = self._live(job_id)
            if job is None or job.record.state == "done":
                return False
            job.request, job.forgotten = request, job.forgotten or "in part"
            return True

    def mark_forgotten(self, job_id: str, names: Collection[str], *, is_write: bool) -> bool:
        """See `Board.mark_forgotten`."""
        with self._changed:
            job = self._live(job_id)
            if job is None or job.record.is_over:
                return False
            job.forgotten, job.forgets = job.forgotten or "wholly", (*(job.forgets or ()), *names)
            job.is_forgotten_write = job.is_forgotten_write or is_write
            return True

    def scrub_jobs(self, jobs: Sequence[Scrubbed]) -> None:
        """See `Board.scrub_jobs`."""
        with self._changed:
            for scrubbed in jobs:
                job = self._live(scrubbed.job_id)
                if job is not None and job.record.state == "done":
                    job.scrub(is_write=scrubbed.is_write)
                    job.result = scrubbed.result or job.result

    def kept_of(self, job_ids: Sequence[str]) -> Mapping[str, Kept]:
        """See `Board.kept_of`."""
        with self._changed:
            live = {job_id: self._live(job_id) for job_id in job_ids}
            return {
                job_id: Kept("", "") if job is None else Kept(job.result or "", str((job.events, job.hits, job.steps)))
                for job_id, job in live.items()
            }
