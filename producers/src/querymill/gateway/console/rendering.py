"""Pages: templates over values, with the frame that they share and the headers that guard them."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.metadata import version
from typing import Any, Final
from urllib.parse import parse_qsl, quote

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.types import Scope as AsgiScope

from querymill.costs import cost_of
from querymill.gateway.console import day, trees, wording
from querymill.gateway.http.middleware import SESSION_COOKIES, session_of
from querymill.gateway.http.problems import Problem, invalid
from querymill.ingesting.kinds import KINDS
from querymill.keys import ApiKey, Scope
from querymill.presenting.numbers import day_or_time, quantity

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types querymill"
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # Not no-referrer: with it, browsers say of our own forms that they come from nowhere.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
#: The pages of the navigation: name, address, the key after "g", whether a key needs the scope operate for it.
PAGES: Final = (
    ("Overview", "/console", "o", False),
    ("Jobs", "/console/jobs", "j", False),
    ("Search", "/console/search", "s", False),
    ("Collections", "/console/collections", "c", False),
    ("Ingestions", "/console/ingestions", "i", False),
    ("Dead", "/console/dead", "d", True),
    ("Providers", "/console/providers", "p", True),
    ("Workers", "/console/workers", "w", True),
)
THEMES: Final = ("auto", "light", "dark")
THEME_COOKIE: Final = "qm_theme"
STATIC: Final = {"console.css": "text/css", "console.js": "text/javascript", "icon.svg": "image/svg+xml"}
MAX_FORM_FIELDS: Final = 500


def static_file(name: str) -> bytes:
    """Return the content of a static file."""
    return (resources.files("querymill.gateway.console") / "static" / name).read_bytes()


@cache
def static_digest() -> str:
    """Return a digest of all static files. It is part of their addresses, so that browsers may keep them for ever."""
    return hashlib.sha256(b"\0".join(static_file(name) for name in STATIC)).hexdigest()[:12]


def address(*parts: str, **parameters: Any) -> str:
    """Write the address of a page; names are encoded, and parameters without a value left out.

    >>> address("collections", "a/b", page=3, mark=None)
    '/console/collections/a%2Fb?page=3'
    """
    path = "/".join(["/console", *(quote(part, safe="") for part in parts)])
    query = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in parameters.items() if value is not None)
    return f"{path}?{query}" if query else path


@cache
def environment() -> Environment:
    """Return the environment of all templates: everything is escaped, and nothing may be left undefined."""
    made = Environment(
        loader=PackageLoader("querymill.gateway.console"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=wording.finish,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        name: getattr(wording, name)
        for name in (
            "count",
            "duration",
            "age",
            "size",
            "score",
            "iso",
            "clock",
            "short",
            "sign",
            "breakable",
            "marked",
            "passage",
            "language",
        )
    }
    made.filters |= {"shown_metadata": wording.shown_metadata, "quantity": quantity, "day_or_time": day_or_time}
    made.filters |= {"bound": day.bound}
    made.filters |= {"cost": lambda costs: cost_of(costs).money}
    made.filters |= {"terms": trees.terms, "below": trees.below}
    made.globals |= {"address": address, "pages": PAGES, "themes": THEMES, "kinds": [kind.name for kind in KINDS]}
    made.globals |= {"release": version("querymill"), "static": f"/console/static/{static_digest()}"}
    return made


def render(request: Request, template: str, /, status: int = 200, **page: Any) -> Response:
    """Render a page for the visitor."""
    return render_in(request.scope, template, status, **page)


def render_in(scope: AsgiScope, template: str, /, status: int = 200, **page: Any) -> Response:
    """Render a page for the request of a scope, which may not have come through the door."""
    request = Request(scope)
    caller: ApiKey | None = scope.get("state", {}).get("caller")
    theme = request.cookies.get(THEME_COOKIE, "auto")
    frame = {
        "theme": theme if theme in THEMES else "auto",
        "path": request.url.path,
        "here": request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        "caller": caller,
        "operates": caller is not None and Scope.OPERATE in caller.scopes,
    }
    known = session_of(request.headers)
    visit = known or secrets.token_urlsafe(32)
    frame["token"] = form_token(visit)
    text = environment().get_template(template).render(frame | page)
    response = HTMLResponse(text, status, dict(HEADERS) | {"Cache-Control": "no-store"})
    if not known:
        begin_visit(response, request, visit)
    return response


def see(target: str) -> Response:
    """Send the browser to another page, by GET."""
    return RedirectResponse(target, 303, dict(HEADERS))


def form_token(session: str) -> str:
    """Return the token of the forms of a visit: only pages of ours know it, because only they are told the cookie."""
    return hmac.new(session.encode(), b"form", hashlib.sha256).hexdigest()[:32] if session else ""


def begin_visit(response: Response, request: Request, session: str) -> None:
    """Give a visitor the cookie that guards the forms. After a sign-in it is the session of a key."""
    is_secure = request.headers.get("origin", "").startswith("https://")
    response.set_cookie(
        SESSION_COOKIES[is_secure], session, path="/", httponly=True, samesite="strict", secure=is_secure
    )


async def read_form(request: Request) -> dict[str, list[str]]:
    """Read a form that a page of ours sent.

    Raises:
        Problem: Another page sent it, the visit to which it belonged is over, or it has too many fields.
    """
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Problem("origin")
    fields: dict[str, list[str]] = {}
    body = (await request.body()).decode(errors="replace")
    try:
        sent = parse_qsl(body, keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS)
    except ValueError:
        raise invalid(("form", f"must have at most {MAX_FORM_FIELDS} fields")) from None
    for name, value in sent:
        fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    session = session_of(request.headers)
    given = (fields.pop("token", None) or [""])[0]
    if not session or not hmac.compare_digest(given, form_token(session)):
        raise Problem("origin", "the form is of another visit; reload the page it is on, and send it again")
    return fields
