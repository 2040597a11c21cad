"""Ingestions that have not ended: why a collection holds nothing yet."""

from typing import Final

from fastapi import Request

from querymill.gateway.http.job_search import Wanted, find_jobs
from querymill.ingesting.kinds import KINDS

#: The kinds of jobs that ingest documents, by what they ingest.
_INGESTS: Final[dict[str, frozenset[str]]] = {
    known.name: frozenset(
        asked.model_fields["kind"].default
        for asked in (known.documents.request, known.documents.packing and known.documents.packing.request)
        if asked
    )
    for known in KINDS
}


async def is_filling(request: Request, collection: str, kind: str) -> bool:
    """Return whether an ingestion into a collection, which the caller may see, has not ended."""
    wanted: Wanted = {"collection": collection, "kind": _INGESTS.get(kind, frozenset()), "state": ("queued", "running")}
    return bool((await find_jobs(request, wanted, limit=1)).records)
