"""The OpenAPI document, a page made from it, and a page per type of problem. Nothing is loaded from elsewhere."""

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from querymill.gateway.http.problems import KINDS, not_found
from querymill.gateway.http.routing import GatewayRoute

router = APIRouter(route_class=GatewayRoute, include_in_schema=False)

_POLICY: Final = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_STYLE: Final = """:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;margin:0}
body{background:light-dark(#fff,#15181d);color:light-dark(#1a1d21,#e8eaed)}
a{color:light-dark(#0b57a4,#8ab8ff)}
header{border-bottom:1px solid light-dark(#d9dde3,#343a44)}
header a{display:block;max-width:60rem;margin:0 auto;padding:.75rem 1rem}
header a{font-weight:650;color:inherit;text-decoration:none}
main{max-width:60rem;margin:0 auto;padding:1rem}
code,pre{font:14px/1.45 ui-monospace,monospace;overflow-wrap:anywhere}
td code{overflow-wrap:break-word}
pre{overflow-x:auto;padding:.75rem;border:1px solid color-mix(in srgb,currentColor 25%,transparent)}
summary{cursor:pointer;padding:.25rem 0}
table{border-collapse:collapse;width:100%}
td,th,caption{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin:2.5rem 0 .5rem}h2 code{font-size:inherit}caption{font-weight:600}
"""
#: These pages belong to the console, and lead back to it.
_HEADER: Final = '<header><a href="/console">Querymill</a></header>'


@router.get("/")
async def lead_to_console() -> Response:
    """Lead who types the address of the gateway to its console."""
    return RedirectResponse("/console", 307)


@router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    """Return the OpenAPI document."""
    return JSONResponse(request.app.openapi())


@router.get("/docs", responses={200: {"content": {"text/html": {}}}})
async def docs(request: Request) -> Response:
    """Return the page of the API, made from its document."""
    return _page("Querymill API", "".join(_api(request.app.openapi())))


@router.get("/docs/style.css", responses={200: {"content": {"text/css": {}}}})
async def style() -> Response:
    """Return the style of the pages."""
    return Response(_STYLE, media_type="text/css", headers={"Cache-Control": "max-age=3600"})


@router.get("/problems/{slug}", responses={200: {"content": {"text/html": {}}}})
async def problem(slug: str) -> Response:
    """Return the page of a type of problem."""
    kind = KINDS.get(slug)
    if kind is None:
        raise not_found()
    said = f"<h1>{escape(kind.title)}</h1><p>Status {kind.status}. {_prose(kind.about)}</p>"
    return _page(kind.title, said + '<p><a href="/docs">The API</a></p>')


def _page(title: str, body: str) -> Response:
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    style = '<link rel="stylesheet" href="/docs/style.css">'
    text = f'<!doctype html><html lang="en"><head>{head}{style}</head><body>{_HEADER}<main>{body}</main></body></html>'
    return HTMLResponse(text, headers={"Content-Security-Policy": _POLICY, "Referrer-Policy": "no-referrer"})


def _api(document: Mapping[str, Any]) -> Iterator[str]:
    yield f"<h1>Querymill API</h1><p>{_prose(document['info']['description'])}</p>"
    yield '<p><a href="/openapi.json">openapi.json</a></p>'
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield from _operation(method, path, operation)
    yield "<h2>Schemas</h2>"
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield _folded(f'<code id="{escape(name)}">{escape(name)}</code>', schema)


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{_prose(operation.get('description', ''))}</p>"
    rows = [
        f"<tr><td><code>{escape(given['name'])}</code></td><td>{escape(given['in'])}</td>"
        f"<td>{_prose(given.get('description', ''))}</td></tr>"
        for given in operation.get("parameters", ())
    ]
    if rows:
        yield f"<table><caption>Parameters</caption><tr><th>name<th>in<th>meaning</tr>{''.join(rows)}</table>"
    for media, body in operation.get("requestBody", {}).get("content", {}).items():
        for kind, example in body.get("examples", {}).items():
            yield _folded(f"<code>{escape(media)}</code>: {escape(kind)}", example["value"])
    answers = [
        f"<tr><td>{escape(status)}</td><td>{_prose(given.get('description', ''))}</td></tr>"
        for status, given in operation["responses"].items()
    ]
    yield f"<table><caption>Answers</caption><tr><th>status<th>meaning</tr>{''.join(answers)}</table>"


def _folded(summary: str, value: Any) -> str:
    shown = escape(json.dumps(value, indent=2, ensure_ascii=False))
    return f"<details><summary>{summary}</summary><pre tabindex=0>{shown}</pre></details>"


def _prose(text: str) -> str:
    """Write a text with code between backticks as HTML."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))
