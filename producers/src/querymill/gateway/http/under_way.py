"""Ingestions that have not ended: why a collection holds nothing yet."""

from typing import Final

from fastapi import Request

from querymill.gateway.http.job_search import Wanted, find_jobs
from querymill.ingesting.kinds import KINDS

#: The kind of the jobs that ingest documents, by what they ingest.
_INGESTS: Final = {known.name: str(known.documents.request.model_fields["kind"].default) for known in KINDS}


async def is_filling(request: Request, collection: str, kind: str) -> bool:
    """Return whether an ingestion into a collection, which the caller may see, has not ended."""
    wanted: Wanted = {"collection": collection, "kind": _INGESTS[kind], "state": ("queued", "running")}
    return bool((await find_jobs(request, wanted, limit=1)).records)
