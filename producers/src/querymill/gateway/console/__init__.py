"""The web console at /console: pages for those who ask what the fleet does, why a job is slow, and why a hit is there.

The pages are rendered here, from the same functions as the routes of the API. The script only looks again.
"""

from fastapi import APIRouter

from querymill.gateway.console import (
    absences,
    collections,
    comparing,
    dead_letters,
    fleet,
    ingestions,
    job_list,
    job_page,
    judging,
    pictures,
    ranks,
    search,
    sign_in,
    static_files,
)

router = APIRouter(include_in_schema=False)
for _room in (
    sign_in,
    static_files,
    fleet,
    job_list,
    job_page,
    comparing,
    judging,
    absences,
    search,
    dead_letters,
    ingestions,
    ranks,
    pictures,  # before the page of a document, whose address may hold anything
    collections,
):
    router.include_router(_room.router)
