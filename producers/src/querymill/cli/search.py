"""``querymill search``: ask one question and watch it travel."""

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, assert_never

import typer

from querymill.cli import screen
from querymill.cli.exits import WrongUse
from querymill.cli.request_file import fields_in
from querymill.cli.terminal import Console, echo
from querymill.client import Querymill
from querymill.job import Job
from querymill.kinds.conversations.screen import show_conversations
from querymill.kinds.files.screen import follow_rounds, show_files
from querymill.kinds.messages.screen import show_messages
from querymill.kinds.modules.screen import show_modules
from querymill.kinds.reports.screen import show_reports
from querymill_shared.contracts.conversations.search import ConversationResult
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.files.search import FileResult, FileSearch
from querymill_shared.contracts.jobs import Search, SearchResult, decode_request
from querymill_shared.contracts.messages.search import MessageResult
from querymill_shared.contracts.modules.search import ModuleResult
from querymill_shared.contracts.reports.search import ReportResult

Query = Annotated[str | None, typer.Argument(help="the question")]
Collection = Annotated[str | None, typer.Option(help="the collection to search")]
RequestFile = Annotated[Path | None, typer.Option(help="a JSON file with the request's fields")]
Deadline = Annotated[float | None, typer.Option(help="seconds until the answer is due")]
LaneOption = Annotated[Lane | None, typer.Option(help="who goes first")]
Json = Annotated[bool, typer.Option("--json", help="print one JSON object")]
#: Options that are no field of the request.
_NO_FIELDS = ("request", "as_json")
#: Any number there is, so that the contract can refuse those that are no weight.
_WEIGHTED = re.compile(r"([-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+|nan|inf)):\s*(.+)", re.DOTALL | re.IGNORECASE)


def register(app: typer.Typer) -> None:
    """Add the commands, one per kind."""
    group = typer.Typer(help="Search a collection: live progress, then the hits.", no_args_is_help=True)
    group.command("reports")(reports)
    group.command("modules")(modules)
    group.command("messages")(messages)
    group.command("conversations")(conversations)
    group.command("files")(files)
    app.add_typer(group, name="search")


def reports(
    query: Query = None,
    collection: Collection = None,
    request: RequestFile = None,
    top_n: Annotated[int | None, typer.Option(help="hits returned, 1 to 200")] = None,
    candidates: Annotated[int | None, typer.Option(help="passages per query and document")] = None,
    hyde: Annotated[bool | None, typer.Option(help="search a hypothetical answer too")] = None,
    multi_query: Annotated[
        list[str] | None, typer.Option(help="synonym, subquestion, variant; may be repeated")
    ] = None,
    return_parent_pages: Annotated[bool | None, typer.Option(help="return pages, not passages")] = None,
    inner_factor: Annotated[float | None, typer.Option(help="weight of the inner product")] = None,
    company: Annotated[str | None, typer.Option(help="search this company's reports")] = None,
    period: Annotated[str | None, typer.Option(help="search this period's reports: 2022, FY2021 Q3")] = None,
    documents: Annotated[list[str] | None, typer.Option(help="search these reports (sha1); may be repeated")] = None,
    today: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="your calendar day")] = None,
    answer: Annotated[bool | None, typer.Option(help="let a chat model answer from the hits, citing them")] = None,
    judge: Annotated[bool | None, typer.Option(help="judge that answer: grounded, relevant, complete")] = None,
    answer_tokens: Annotated[int | None, typer.Option(help="the longest answer asked for, 16 to 4000")] = None,
    passage_tokens: Annotated[int | None, typer.Option(help="what the hits may take of the prompt")] = None,
    deadline: Deadline = None,
    lane: LaneOption = None,
    as_json: Json = False,
) -> None:
    """Search reports; shows each branch live, then the hits and what their scores are made of."""
    given = {
        "query": query,
        "collection": collection,
        "top_n": top_n,
        "candidates": candidates,
        "hyde": hyde,
        "multi_query": multi_query or None,
        "return_parent_pages": return_parent_pages,
        "inner_factor": inner_factor,
        "company": company,
        "period": period,
        "documents": documents or None,
        "today": None if today is None else today.date().isoformat(),
        "answer": answer,
        "judge": judge,
        "answer_tokens": answer_tokens,
        "passage_tokens": passage_tokens,
        "deadline": deadline,
        "lane": lane,
    }
    run("reports", request, given, as_json=as_json)


def modules(
    query: Query = None,
    collection: Collection = None,
    request: RequestFile = None,
    sub_query: Annotated[
        list[str] | None, typer.Option(help='a part of the request, "8: a cone" with its weight; may be repeated')
    ] = None,
    top_k: Annotated[int | None, typer.Option(help="documents returned, 1 to 100")] = None,
    candidates: Annotated[int | None, typer.Option(help="documents taken from each channel")] = None,
    match: Annotated[str | None, typer.Option(help="exact, suffix: when a module's name counts")] = None,
    mode: Annotated[str | None, typer.Option(help="hits, coverage: what is counted")] = None,
    channels: Annotated[list[str] | None, typer.Option(help="modules, text; may be repeated")] = None,
    lexicon: Annotated[bool | None, typer.Option(help="let plain words stand for modules, as learned")] = None,
    split: Annotated[bool | None, typer.Option(help="let a chat model split the request")] = None,
    prompt_tokens: Annotated[int | None, typer.Option(help="budget of the prompt; 0 builds none")] = None,
    deadline: Deadline = None,
    lane: LaneOption = None,
    as_json: Json = False,
) -> None:
    """Search code by the modules it uses; shows the hits, which rule found them, and what their scores are made of."""
    given = {
        "query": query,
        "collection": collection,
        "sub_queries": [_weighted(part) for part in sub_query] if sub_query else None,
        "top_k": top_k,
        "candidates": candidates,
        "match": match,
        "mode": mode,
        "channels": channels or None,
        "lexicon": lexicon,
        "split": split,
        "prompt_tokens": prompt_tokens,
        "deadline": deadline,
        "lane": lane,
    }
    run("modules", request, given, as_json=as_json)


def messages(
    query: Query = None,
    collection: Collection = None,
    request: RequestFile = None,
    session_id: Annotated[str | None, typer.Option(help="search this session only")] = None,
    limit: Annotated[int | None, typer.Option(help="messages returned, 1 to 200")] = None,
    similarity_threshold: Annotated[
        str | None, typer.Option(help="least calibrated similarity, 0 to 1; null: no threshold")
    ] = None,
    exclude_message_id: Annotated[str | None, typer.Option(help="leave this message out")] = None,
    vector_type: Annotated[str | None, typer.Option(help="message, context")] = None,
    include_context: Annotated[bool | None, typer.Option(help="search messages and their contexts")] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="exact, related, fuzzy, persona, abbreviation, script, faq, recommend, explore"),
    ] = None,
    hybrid: Annotated[bool | None, typer.Option(help="join the rankings by vectors and by words")] = None,
    vector_weight: Annotated[float | None, typer.Option(help="weight of the vectors' ranking")] = None,
    words_weight: Annotated[float | None, typer.Option(help="weight of the words' ranking")] = None,
    rrf_k: Annotated[int | None, typer.Option(help="constant of the reciprocal ranks")] = None,
    deadline: Deadline = None,
    lane: LaneOption = None,
    as_json: Json = False,
) -> None:
    """Search the messages of chats; shows the hits and how similar they are."""
    given = {name: value for name, value in locals().items() if name not in _NO_FIELDS}
    run("messages", request, given, as_json=as_json)


def conversations(
    query: Query = None,
    collection: Collection = None,
    request: RequestFile = None,
    current_session: Annotated[str | None, typer.Option(help="the session you are in: counts double")] = None,
    recent_sessions: Annotated[
        list[str] | None, typer.Option(help="a session you were in lately: counts one and a half; may be repeated")
    ] = None,
    top_n: Annotated[int | None, typer.Option(help="sessions returned, 1 to 200")] = None,
    scoring: Annotated[str | None, typer.Option(help="product, bounded, bm25")] = None,
    rank_swing: Annotated[float | None, typer.Option(help="a of bounded: how far the rank moves a score")] = None,
    decay_swing: Annotated[float | None, typer.Option(help="b of bounded: how far the age moves a score")] = None,
    context_cap: Annotated[float | None, typer.Option(help="cap of bounded: most that your sessions count")] = None,
    diversify: Annotated[bool | None, typer.Option(help="mix ages and topics")] = None,
    time_filter: Annotated[bool | None, typer.Option(help="read times in the query as a filter")] = None,
    expansion: Annotated[bool | None, typer.Option(help="search synonyms too")] = None,
    spelling: Annotated[bool | None, typer.Option(help="correct words that the collection does not know")] = None,
    simplification: Annotated[bool | None, typer.Option(help="drop filler words")] = None,
    now: Annotated[datetime | None, typer.Option(help="search as if it were then")] = None,
    time_zone: Annotated[str | None, typer.Option(help="where your days begin: Asia/Shanghai")] = None,
    why_not: Annotated[str | None, typer.Option(help="say where this session was lost")] = None,
    deadline: Deadline = None,
    lane: LaneOption = None,
    as_json: Json = False,
) -> None:
    """Search sessions; shows how the query was understood, the hits, and what their scores are made of."""
    given = {name: value for name, value in locals().items() if name not in _NO_FIELDS}
    given |= {"recent_sessions": recent_sessions or None, "now": None if now is None else now.isoformat()}
    run("conversations", request, given, as_json=as_json)


def files(
    query: Query = None,
    collection: Collection = None,
    request: RequestFile = None,
    mode: Annotated[str | None, typer.Option(help="iterative, oneshot")] = None,
    channels: Annotated[list[str] | None, typer.Option(help="words, vectors; may be repeated")] = None,
    patterns: Annotated[
        list[str] | None, typer.Option("--pattern", help="a regular expression for contents (RE2); may be repeated")
    ] = None,
    globs: Annotated[
        list[str] | None, typer.Option("--glob", help="a pattern for paths, as in ignore files; may be repeated")
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="rounds at most, 1 to 3")] = None,
    candidates: Annotated[int | None, typer.Option(help="files evaluated in a round, 20 to 50")] = None,
    top_n: Annotated[int | None, typer.Option(help="files returned, 1 to 200")] = None,
    evaluator: Annotated[str | None, typer.Option(help="default, judge: who says how relevant a file is")] = None,
    token_budget: Annotated[int | None, typer.Option(help="tokens at which no further round begins")] = None,
    context_budget: Annotated[int | None, typer.Option(help="tokens of the joined high files; 0 joins none")] = None,
    return_low: Annotated[bool | None, typer.Option(help="return low files, too")] = None,
    deadline: Deadline = None,
    lane: LaneOption = None,
    as_json: Json = False,
) -> None:
    """Search a code base in rounds; shows each round live, then the files, why, and what it cost."""
    given = {name: value for name, value in locals().items() if name not in _NO_FIELDS and value != []}
    run("files", request, given, as_json=as_json)


def run(kind: str, path: Path | None, given: dict[str, Any], *, as_json: bool) -> None:
    """Submit what was asked, follow it, print what came back; what is given beats what the file says."""
    from_file = {} if path is None else fields_in(path, named="--request")
    asked = from_file | {"kind": kind} | {name: value for name, value in given.items() if value is not None}
    if asked.get("similarity_threshold") == "null":
        asked["similarity_threshold"] = None
    wanted = decode_request(json.dumps(asked))
    if not isinstance(wanted, Search):
        raise WrongUse(f"kind: {kind!r} is not a search; use `querymill ingest`")
    timeout = wanted.deadline + 10
    with Querymill() as mill:
        job: Job[Any] = mill.submit(wanted)
        if as_json:
            echo(job.result(timeout=timeout).model_dump_json())
            return
        console = Console()
        follow = follow_rounds if isinstance(wanted, FileSearch) else screen.follow
        follow(console, wanted.query, job.events(timeout=timeout))
        show(console, job.result(timeout=5))


def show(console: Console, result: SearchResult) -> None:
    """Print the hits of any kind."""
    match result:
        case ReportResult():
            show_reports(console, result)
        case ModuleResult():
            show_modules(console, result)
        case MessageResult():
            show_messages(console, result)
        case ConversationResult():
            show_conversations(console, result)
        case FileResult():
            show_files(console, result)
        case _:
            assert_never(result)


def _weighted(part: str) -> str | dict[str, Any]:
    found = _WEIGHTED.fullmatch(part)
    return part if found is None else {"weight": float(found[1]), "description": found[2]}
