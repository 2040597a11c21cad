"""Signing in and out: an API key becomes a session of the console. And the choice of colours."""

from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from querymill.gateway.console.rendering import (
    THEME_COOKIE,
    THEMES,
    begin_visit,
    read_form,
    render,
    see,
)
from querymill.gateway.http import audit
from querymill.gateway.http.context import caller_of, context_of
from querymill.gateway.http.middleware import SESSION_COOKIES, is_console, session_of
from querymill.gateway.http.problems import Problem

router = APIRouter()

NOT_VALID: Final = "this key is not valid"


@router.get("/console/sign-in")
async def show(request: Request) -> Response:
    """Ask for a key."""
    return render(request, "sign_in.html", next=_place(request.query_params.get("next")), wrong="")


@router.post("/console/sign-in")
async def sign_in(request: Request) -> Response:
    """Begin a session for a key that is valid."""
    fields = await read_form(request)
    written, place = fields.get("key", [""])[0].strip(), _place(fields.get("next", [""])[0])
    context = context_of(request)
    try:
        key, wrong = await context.key_of(written), NOT_VALID
    except Problem as problem:
        key, wrong = None, problem.detail
    if key is None or not key.id:
        return render(request, "sign_in.html", 401, next=place, wrong=wrong)
    response = see(place)
    begin_visit(response, request, await context.begin_session(key))
    audit.note(key, "sign in", request_id=request.state.request_id)
    return response


@router.post("/console/sign-out")
async def sign_out(request: Request) -> Response:
    """End the session."""
    await read_form(request)
    await context_of(request).end_session(session_of(request.headers))
    audit.note(caller_of(request), "sign out", request_id=request.state.request_id)
    response = see("/console/sign-in")
    for name in SESSION_COOKIES:
        response.delete_cookie(name, path="/", httponly=True, samesite="strict", secure=name.startswith("__Host-"))
    return response


@router.post("/console/theme")
async def choose_theme(request: Request) -> Response:
    """Remember the colours of a visitor."""
    fields = await read_form(request)
    theme = fields.get("theme", [""])[0]
    response = see(_place(fields.get("next", [""])[0]))
    response.set_cookie(
        THEME_COOKIE, theme if theme in THEMES else "auto", max_age=365 * 86_400, path="/console", samesite="strict"
    )
    return response


def _place(written: str | None) -> str:
    """Return the page to go on with: one of ours, never another site's."""
    is_ours = bool(written) and is_console(str(written).partition("?")[0]) and str(written).isprintable()
    return str(written) if is_ours else "/console"
