"""Jobs of a client that asks a gateway, from threads: what `AsyncHttpTransport` does, in a loop of its own."""

from collections.abc import Iterator, Mapping
from typing import Final

from querymill.client.http.loop import LoopThread
from querymill.client.http.transport import AsyncHttpTransport
from querymill.client.transport import Accepted, Collections
from querymill_shared.board.picture import Picture
from querymill_shared.contracts.batches import KeptBatch
from querymill_shared.contracts.events import Event
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.results import JobResult
from querymill_shared.contracts.submit_options import SubmitOptions


class HttpTransport:
    """Carries jobs through a gateway, for any number of threads. See `Transport`.

    Raises:
        InvalidRequest: The address or the key breaks a rule.
    """

    is_remote: Final = True

    def __init__(self, url: str, api_key: str | None) -> None:
        self._asks = AsyncHttpTransport(url, api_key)
        self._loop = LoopThread()
        self.place = self._asks.place

    def close(self) -> None:
        """See `Transport.close`."""
        self._loop.run(self._asks.close())
        self._loop.stop()

    def submit(self, request: JobRequest, options: SubmitOptions) -> Accepted:
        """See `Transport.submit`."""
        return self._loop.run(self._asks.submit(request, options))

    def events(self, job_id: str, *, after: str | None, until: float | None) -> Iterator[Event]:
        """See `Transport.events`."""
        return self._loop.iterate(self._asks.events(job_id, after=after, until=until))

    def result(self, job_id: str, *, until: float | None) -> JobResult:
        """See `Transport.result`."""
        return self._loop.run(self._asks.result(job_id, until=until))

    def picture(self, job_id: str) -> Picture:
        """See `Transport.picture`."""
        return self._loop.run(self._asks.picture(job_id))

    def trail(self, job_id: str) -> Picture:
        """See `Transport.trail`."""
        return self._loop.run(self._asks.trail(job_id))

    def cancel(self, job_id: str) -> bool:
        """See `Transport.cancel`."""
        return self._loop.run(self._asks.cancel(job_id))

    def release(self, job_id: str) -> bool:
        """See `Transport.release`."""
        return self._loop.run(self._asks.release(job_id))

    def replay(self, job_id: str) -> bool:
        """See `Transport.replay`."""
        return self._loop.run(self._asks.replay(job_id))

    def drop(self, job_id: str) -> bool:
        """See `Transport.drop`."""
        return self._loop.run(self._asks.drop(job_id))

    def feedback(self, job_id: str, hit: str, relevance: int, comment: str) -> str:
        """See `Transport.feedback`."""
        return self._loop.run(self._asks.feedback(job_id, hit, relevance, comment))

    def recent(self, *, limit: int, labels: Mapping[str, str], idempotency_key: str | None) -> list[str]:
        """See `Transport.recent`."""
        return self._loop.run(self._asks.recent(limit=limit, labels=labels, idempotency_key=idempotency_key))

    def past(self, *, until: float, limit: int) -> list[str]:
        """See `Transport.past`."""
        return self._loop.run(self._asks.past(until=until, limit=limit))

    def dead(self, *, limit: int) -> list[str]:
        """See `Transport.dead`."""
        return self._loop.run(self._asks.dead(limit=limit))

    def collections(self) -> Collections:
        """See `Transport.collections`."""
        return self._loop.run(self._asks.collections())

    def record(self, batch: str, about: KeptBatch) -> None:
        """See `Transport.record`."""
        self._loop.run(self._asks.record(batch, about))
