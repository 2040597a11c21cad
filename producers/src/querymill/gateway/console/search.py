"""The search pages: a form made from the contract. GET fills it and runs nothing, POST submits it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast, get_args
from urllib.parse import quote, unquote

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import ValidationError

from querymill.gateway.console.forms import EVERYTHING, OWN_FIRST, FormKind, fields_of, form_of, given_after, given_by
from querymill.gateway.console.hits import read_result
from querymill.gateway.console.rendering import address, read_form, render, see
from querymill.gateway.http.context import caller_of, context_of
from querymill.gateway.http.languages import in_callers_locale
from querymill.gateway.http.problems import Problem, not_found, rule_of
from querymill.gateway.http.scopes import REQUESTS
from querymill.gateway.http.submitting import submit_job
from querymill.gateway.http.waiting import look_at
from querymill_shared.contracts.answer import WrittenAnswer
from querymill_shared.contracts.errors import Overloaded, UnknownCollection
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.search import AnySearch

router = APIRouter()

#: The kinds that have a search form, in the order of their tabs.
_KNOWN: Final[tuple[Retriever, ...]] = get_args(Retriever)
KINDS: Final[tuple[FormKind, ...]] = (*OWN_FIRST, *(kind for kind in _KNOWN if kind not in OWN_FIRST))
#: What their tabs say.
TABS: Final[Mapping[FormKind, str]] = {kind: "everything" if kind == EVERYTHING else kind for kind in KINDS}

#: The cookie of the kind and collection that a browser asked last.
ASKED_COOKIE: Final = "qm_asked"
_NOTHING: Final = {"collection": "holds nothing of this kind"}


@router.get("/console/search")
async def choose_kind(request: Request) -> Response:
    """Go to the search of the kind that was asked last, else of the first that has something stored."""
    held = await _held(request)
    last, _ = _asked_last(request)
    kind = next((kind for kind in (last, *KINDS) if held.get(kind) or kind == last == EVERYTHING), KINDS[0])
    return see(address("search", kind))


@router.get("/console/search/{kind}")
async def show_form(request: Request, kind: str) -> Response:
    """Show the form of a kind, filled with the parameters of the address, or with a job: to ask it again, or on."""
    params = request.query_params
    if "job" in params:
        return await _edit(request, _known(kind), params["job"])
    if "after" in params:
        return await _ask_on(request, _known(kind), params["after"])
    given = {name: params.getlist(name) for name in params if name != "collection"}
    return await _form(request, _known(kind), given, params.get("collection", ""))


@router.post("/console/search/{kind}")
async def submit(request: Request, kind: str) -> Response:
    """Submit the search, and go to its job."""
    known = _known(kind)
    given = await read_form(request)
    collection = (given.pop("collection", None) or [""])[0]
    asked = REQUESTS[kind]
    try:
        search = asked.model_validate(fields_of(known, asked, given, collection))
        job = await submit_job(request, in_callers_locale(request, cast("JobRequest", search)))
    except ValidationError as error:
        wrong = dict(rule_of(entry, ()) for entry in error.errors())
        return await _form(
            request, known, given, collection, {name.split(".")[0]: rule for name, rule in wrong.items()}
        )
    except (ValueError, UnknownCollection, Overloaded) as error:
        return await _form(request, known, given, collection, _said(error))
    except Problem as problem:
        if problem.slug != "not-found":
            raise
        return await _form(request, known, given, collection, dict(problem.errors) or _NOTHING)
    response = see(address("jobs", job.id))
    response.set_cookie(
        ASKED_COOKIE, quote(f"{kind}/{collection}", safe=""), path="/console/search", httponly=True, samesite="strict"
    )
    return response


def _asked_last(request: Request) -> tuple[str, str]:
    """Return the kind and the collection that this browser asked last, "" and "" if it has asked nothing."""
    kind, _, collection = unquote(request.cookies.get(ASKED_COOKIE, "")).partition("/")
    return kind, collection


async def _edit(request: Request, kind: FormKind, job_id: str) -> Response:
    """Show the form filled with what a job asked. Raises as `_asked_by` does."""
    asked = await _asked_by(request, kind, job_id)
    return await _form(request, kind, given_by(kind, asked), asked.collection)


async def _ask_on(request: Request, kind: FormKind, job_id: str) -> Response:
    """Show the form for the next question of the chat that a job is a turn of. Raises as `_asked_by` does."""
    asked = await _asked_by(request, kind, job_id)
    result = read_result(await context_of(request).mill.board.result(job_id))
    answer: WrittenAnswer | None = getattr(result, "answer", None)
    given = given_after(kind, asked, "" if answer is None else answer.text)
    return await _form(request, kind, given, asked.collection)


async def _asked_by(request: Request, kind: FormKind, job_id: str) -> AnySearch:
    """Return what a job asked.

    Raises:
        Problem: The visitor may not see the job, it is of another kind, or what it asked is no longer kept.
    """
    await look_at(request, job_id)
    asked = (await context_of(request).mill.board.picture(job_id)).for_caller().asked
    if asked is None or asked.kind != kind or not isinstance(asked, AnySearch):
        raise not_found()
    return asked


def _said(error: Exception) -> dict[str, str]:
    if isinstance(error, UnknownCollection):
        return _NOTHING
    if isinstance(error, Overloaded):
        return {"": "Too much work waits: no worker could begin it before its deadline. Nothing was enqueued."}
    return {"filter": str(error).removeprefix("filter: ")}


def _known(kind: str) -> FormKind:
    found = next((known for known in KINDS if known == kind), None)
    if found is None:
        raise not_found()
    return found


async def _form(
    request: Request,
    kind: FormKind,
    given: Mapping[str, Sequence[str]],
    collection: str,
    wrong: Mapping[str, str] | None = None,
) -> Response:
    held = await _held(request)
    known: dict[str, Any] = dict(wrong or {})
    if kind == EVERYTHING and "collection" in known:
        known["collections"] = known.pop("collection")
    form = form_of(kind, REQUESTS[kind], given, known)
    placed = {field.name for field in (*form.first, *form.more)} | {"collection"}
    return render(
        request,
        "search.html",
        422 if wrong else 200,
        tabs=TABS,
        held=held,
        form=form,
        collection=collection or _preset(request, held.get(kind, ())),
        wrong=known,
        others=[f"{name}: {rule}".removeprefix(": ") for name, rule in known.items() if name not in placed],
    )


def _preset(request: Request, held: Sequence[str]) -> str:
    """Return the collection that was asked last, if it holds something of the kind, else the first that does."""
    _, last = _asked_last(request)
    return last if last in held else next(iter(held), "")


async def _held(request: Request) -> dict[str, list[str]]:
    """Return the collections that the visitor may see, by the kind that they hold something of."""
    caller, held = caller_of(request), dict[str, list[str]]()
    for name, kinds in (await context_of(request).mill.collections()).items():
        for kind in kinds if caller.sees(name) else ():
            held.setdefault(kind, []).append(name)
    return held
