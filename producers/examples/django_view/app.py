"""Django views that search: one synchronous, one asynchronous. In your project, keep the views and the two clients.

Run it in this folder of a checkout, and open http://127.0.0.1:8000/search/?q=ships or /asearch/?q=ships:
  pip install ../../../shared ../../histories ../../reading "../..[board]" django uvicorn
  REDIS_URL=redis://127.0.0.1:6379/0 COLLECTION=filings uvicorn app:application
With "../..[http]", MILL_URL and MILL_KEY name a gateway in place of REDIS_URL.
"""

import os

from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, JsonResponse
from django.urls import path

from querymill import (
    AsyncQuerymill,
    JobFailed,
    Querymill,
    QuerymillError,
    ReportResult,
    ReportSearch,
    StillRunning,
    UnknownCollection,
)

settings.configure(ALLOWED_HOSTS=["127.0.0.1", "localhost"], ROOT_URLCONF=__name__)
COLLECTION = os.environ.get("COLLECTION", "filings")
URL, KEY = os.environ.get("MILL_URL"), os.environ.get("MILL_KEY")

# One client for each process: connections are opened when they are needed, and shared by all requests.
mill = Querymill(url=URL, api_key=KEY)
async_mill = AsyncQuerymill(url=URL, api_key=KEY)


def search(request: HttpRequest) -> JsonResponse:
    """Search in the thread of the request."""
    try:
        return found(mill.submit(asked(request)).result(timeout=15))
    except (ValueError, QuerymillError) as error:
        return refused(error)


async def asearch(request: HttpRequest) -> JsonResponse:
    """Search without holding a thread."""
    try:
        job = await async_mill.submit(asked(request))
        return found(await job.result(timeout=15))
    except (ValueError, QuerymillError) as error:
        return refused(error)


def asked(request: HttpRequest) -> ReportSearch:
    """Return the request of a question; a wrong one raises a ValueError that names the field and the rule."""
    return ReportSearch(query=request.GET.get("q", ""), collection=COLLECTION, top_n=5, deadline=10)


def found(result: ReportResult) -> JsonResponse:
    """Show the hits, and say if something is missing."""
    hits = [{"title": hit.title, "page": hit.page, "text": hit.text, "score": hit.score} for hit in result.results]
    return JsonResponse({"complete": result.complete, "hits": hits})


def refused(error: Exception) -> JsonResponse:
    """Say what is wrong, and whose fault it is."""
    known = {UnknownCollection: 404, JobFailed: 502, StillRunning: 504, ValueError: 400}
    status = next((status for kind, status in known.items() if isinstance(error, kind)), 503)
    return JsonResponse({"error": str(error)}, status=status)


urlpatterns = [path("search/", search), path("asearch/", asearch)]
application = get_asgi_application()
