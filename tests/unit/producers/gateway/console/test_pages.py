"""The pages over states: what they say, and that no stored text acts on them."""

import json
import re
from dataclasses import asdict, replace
from typing import Any

import pytest

from querymill.gateway.console import accounts, day, ingestions, overview
from querymill.gateway.console.dead_letters import groups
from querymill.gateway.console.forms import form_of
from querymill.gateway.console.job_list import JobRow, choices, is_meant
from querymill.gateway.console.problem_pages import respond
from querymill.gateway.console.ranks import WEIGHTS, rank_row
from querymill.gateway.console.reading import reading_of
from querymill.gateway.console.rendering import POLICY, form_token
from querymill.gateway.console.search import KINDS, TABS
from querymill.gateway.console.spending import spent_of
from querymill.gateway.http.document_shapes import BatchBody, RejectedLine
from querymill.gateway.http.problems import Problem
from querymill.gateway.http.scopes import REQUESTS
from querymill.keys import LOOPBACK_CALLER, Scope
from querymill.presenting.hit import HitView
from querymill_shared.board import Picture, Record, SetbackCounts, Step
from querymill_shared.contracts.conversations.ranks import RankedSession
from querymill_shared.contracts.costs import ModelCost
from querymill_shared.contracts.documents import DocumentList
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import validate_request
from querymill_shared.contracts.reports.ingest import Report
from querymill_shared.costs import DIMENSIONS, Budget, Sums
from querymill_shared.counters import AccountState
from querymill_shared.fleet_history import Minute
from tests.fixtures.console import HOSTILE, Page, read_page, rendered, scope_of

NOW = 1_795_269_731.0
SEARCHER = LOOPBACK_CALLER.model_copy(update={"id": "ab12", "name": HOSTILE, "scopes": frozenset((Scope.SEARCH,))})


def record(**fields: Any) -> Record:
    plain = Record("4f" * 16, "reports", "filings", "interactive", "running", NOW - 6, NOW + 24, None, "", 1)
    return replace(plain, **fields)


def lately(**jobs: tuple[dict[str, int], int]) -> dict[str, Any]:
    """Say how jobs ended in the last minutes, by kind, and how many of those that are done lack a part."""
    return {"minutes": 5, "jobs": {kind: {"ended": ended, "incomplete": lack} for kind, (ended, lack) in jobs.items()}}


def figures(**fields: Any) -> dict[str, Any]:
    names = ("search", "expand", "ingest", "embed", "rerank", "ranks")
    queues = [{"queue": name, "workers": 1, "slots": 8, "running": 0, "waiting": 0, "oldest_s": None} for name in names]
    worker = {"name": "w1", "queues": list(names), "slots": 8, "host": "h", "pid": 1, "started": NOW - 60, "busy": 3,
              "beat_age_s": 0.4}  # fmt: skip
    plain = {
        "jobs": {"reports": {"submitted": 5, "ended": {"done": 4, "dead": 1}, "seconds": {
            "mean": 0.2, "half_within": 0.25, "95_percent_within": None}, "incomplete": 1}},
        "lately": lately(reports=({"done": 4}, 1)),
        "leases_lost": 0, "dead_letters": 0, "workers": [worker | {"release": "0.1.0"}], "queues": queues,
        "providers": [], "refusals": {}, "counts": {},
    }  # fmt: skip
    return plain | fields


def account(**fields: Any) -> dict[str, Any]:
    """The state of an account with the provider of a model."""
    return asdict(AccountState("m", "closed", 0, 0.0)) | fields


def overview_page(found: dict[str, Any], caller: Any = LOOPBACK_CALLER, **more: Any) -> Page:
    page = {
        "findings": overview.findings(found), "queues": overview.queue_rows(found),
        "ends": overview.ends(found), "hour": None, "day": None,
        "refused": accounts.refused_lately(found["refusals"], NOW), "caches": overview.caches(found["counts"]),
        "kinds_of_job": overview.kind_rows(found), "providers": found["providers"], "workers": found["workers"],
        "dead": found["dead_letters"], "waiting": [], "is_new": False, "collections": ["filings"],
        "gateway": "localhost:8080", "spent": None, "currency": "USD",
    }  # fmt: skip
    return rendered("overview.html", "/console", caller, **(page | more))


def test_all_is_well_in_one_line() -> None:
    assert "All is well. 1 worker listens, nothing waits for long." in overview_page(figures()).text


@pytest.mark.parametrize(
    ("fields", "said", "mend"),
    [
        ({"workers": []}, "No worker is alive.", "querymill worker"),
        (
            {"queues": [{"queue": "ranks", "workers": 0, "slots": 8, "running": 0, "waiting": 4, "oldest_s": 360.0}]},
            "Nobody listens on `ranks`: 4 steps wait, the oldest for 6 min.",
            "querymill worker --queues ranks",
        ),
        (
            {
                "queues": [
                    {"queue": "ingest", "workers": 1, "slots": 8, "running": 0, "waiting": 340, "oldest_s": 130.0}
                ]
            },
            "The oldest of 340 steps on `ingest` has waited 2 min 10 s.",
            "more workers",
        ),
        (
            {"providers": [account(breaker="open", failures=3)]},
            "The provider of m failed 3 times and is left alone.",
            "address, key and status",
        ),
        (
            {"providers": [account(paused_s=21.0)]},
            "The provider of m asked for a pause of 21 s.",
            "_RPM",
        ),
        ({"dead_letters": 2}, "2 jobs were given up for good.", "replay or drop"),
        (
            {"providers": [account(breaker="half-open", failures=12)]},
            "The provider of m failed 12 times in a row and is being tried again.",
            "address, key and status",
        ),
        (
            {
                "lately": lately(
                    reports=({"done": 2, "failed": 56, "dead": 2}, 0), embed=({"done": 40, "cancelled": 9}, 0)
                )
            },
            "58 of 100 jobs (reports: 58 of 60) failed in the last 5 min.",
            "failed jobs",
        ),
        (
            {"lately": lately(reports=({"done": 30}, 0), messages=({"done": 20}, 10))},
            "10 of 50 jobs (messages: 10 of 20) ended in the last 5 min with a part missing.",
            "incomplete jobs",
        ),
        # Many good jobs of one kind do not hide those of another.
        (
            {"lately": lately(list_documents=({"done": 1_000}, 0), messages=({"failed": 3}, 0))},
            "3 of 1,003 jobs (messages: 3 of 3) failed in the last 5 min.",
            "failed jobs",
        ),
        # A single job that failed is worth a word if there was no other.
        (
            {"lately": lately(files=({"failed": 1}, 0))},
            "1 of 1 job (files: 1 of 1) failed in the last 5 min.",
            "failed",
        ),
    ],
)
def test_what_is_wrong_stands_first_with_what_mends_it(fields: dict[str, Any], said: str, mend: str) -> None:
    (found,) = overview.findings(figures(**fields))
    assert found.said == said
    assert mend in found.mend
    assert f"{said} Mend: {found.mend}" in overview_page(figures(**fields)).text


@pytest.mark.parametrize("recent", [
    lately(),
    lately(reports=({"done": 1, "failed": 1}, 0)),
    lately(reports=({"done": 1}, 0), files=({"failed": 1}, 0)),
    lately(reports=({"done": 1, "failed": 2}, 0)),
    lately(reports=({"done": 97, "failed": 3}, 0)),
    lately(reports=({"done": 200}, 20)),
    lately(show_document=({"not_found": 40}, 0), files=({"refused": 3}, 0)),
    lately(reports=({"cancelled": 12}, 0)),
])  # fmt: skip
def test_few_failures_and_mistakes_of_callers_leave_all_well(recent: dict[str, Any]) -> None:
    assert overview.findings(figures(lately=recent)) == []


def test_who_does_not_operate_hears_of_no_failed_job() -> None:
    failing = figures(lately=lately(reports=({"failed": 50}, 0)))
    assert overview.findings(failing, operates=False) == []


def test_the_ends_of_the_last_minutes_and_what_lacks_a_part_are_shown() -> None:
    recent = lately(reports=({"done": 21, "failed": 6}, 10), show_document=({"not_found": 2}, 0))
    page = overview_page(figures(lately=recent))
    assert "Last 5 min ended29 complete✓ 11incomplete⚠ 10failed✕ 6not found○ 2" in page.text
    assert "kindsubmittedincompletefailedhalf within95 % within reports5110.25 s" in page.text


def test_each_address_of_a_model_is_a_row_unless_nobody_asks_there_any_more() -> None:
    broken = account(breaker="half-open", failures=12, address="http://broken/v1", failed_ago_s=1_800.0)
    well = account(address="http://well/v1")
    old = account(address="http://old/v1", is_idle=True)
    alone = account(model="n", is_idle=True)
    assert accounts.asked_lately([well, old, broken, alone]) == [broken, well, alone]
    assert overview.findings(figures(providers=[well, old, broken])) == []  # it failed half an hour ago: no news
    lately_broken = broken | {"failed_ago_s": 5.0}
    page = overview_page(figures(providers=[lately_broken]))
    assert "The provider of m at http://broken/v1 failed 12 times in a row and is being tried again." in page.text
    said = {"what": "HTTP 429, no quota left (insufficient_quota)", "address": "http://well/v1", "at": NOW - 9}
    old_one = said | {"what": "HTTP 500", "at": NOW - 3_600}
    page = overview_page(figures(providers=[well], refusals={"m": [said, old_one]}))
    assert "in useHTTP 429, no quota left (insufficient_quota)" in page.text
    assert "not asked for an hour" in overview_page(figures(providers=[alone])).text


def test_three_sentences_are_enough() -> None:
    queues = [
        {"queue": name, "workers": 0, "slots": 8, "running": 0, "waiting": 1, "oldest_s": 1.0}
        for name in ("search", "expand", "ranks")
    ]
    assert len(overview.findings(figures(queues=queues, dead_letters=9))) == 3


def test_what_waits_says_what_it_waits_for() -> None:
    step = Step("hyde", "waiting", 0)
    picture = Picture(record(), (Step("original", "done", 1), step), {}, {}, None, queues={"hyde": "expand"})
    assert overview.waiting(picture, {}, NOW).why == "nobody listens on expand"
    assert overview.waiting(picture, {"expand": 1}, NOW).why == "waits for a free slot on expand"
    away = replace(picture, steps=(replace(step, counts=SetbackCounts(outages=2), reason="PostgreSQL is away"),))
    assert overview.waiting(away, {"expand": 1}, NOW).why == "put back, tried again soon: PostgreSQL is away"
    held = replace(picture, steps=(replace(step, state="running", attempt=2),))
    assert overview.waiting(held, {}, NOW).why == "in work, attempt 2"
    rows = [overview.waiting(picture, {}, NOW)]
    assert "nobody listens on expand" in overview_page(figures(), waiting=rows).text


def test_rates_and_windows_come_from_counters() -> None:
    minutes = [Minute(NOW - 60 * ago, 60, (), {"steps_run/search": 60 + 10 * ago}) for ago in (7, 2, 1, 0)]
    row, *_ = overview.queue_rows(figures(), minutes)
    assert row.per_minute == pytest.approx(85)
    assert row.rates == pytest.approx((130, 80, 70, 60))
    assert overview.queue_rows(figures())[0].per_minute is None
    ends = overview.ends(figures())
    assert (ends.minutes, ends.total, ends.by_state) == (5, 4, {"complete": 3, "incomplete": 1})
    assert overview.caches({"vector_hit": 3, "vector_miss": 1}).vectors == pytest.approx(0.75)


def test_who_may_not_operate_sees_no_provider_and_no_worker() -> None:
    away = account(model="secret-model", breaker="open", failures=3)
    found = figures(providers=[away], dead_letters=4)
    page = overview_page(found, SEARCHER, findings=overview.findings(found, operates=False))
    assert "secret-model" not in page.text
    assert "given up" not in page.text
    assert "Last 5 min" not in page.text
    assert "secret-model" in overview_page(found).text
    assert page.all("a", href="/console/workers") == []
    assert overview_page(found).all("a", href="/console/workers") != []


def test_a_new_gateway_shows_commands_that_work() -> None:
    page = overview_page(figures(jobs={}), is_new=True)
    stored, asked = re.findall(r"curl (\S+) -H 'Content-Type: (\S+)' -d '(.+?)'", page.text)
    assert stored[:2] == ("'localhost:8080/v1/collections/filings/reports?wait=20'", "application/x-ndjson")
    Report.model_validate_json(stored[2])
    assert asked[0] == "'localhost:8080/v1/jobs?wait=20'"
    validate_request(asked[2])
    assert "querymill demo" not in page.text  # it has a stack of its own


def jobs_page(rows: list[JobRow], **more: Any) -> Page:
    given = {"state": None, "kind": None, "collection": None, "lane": None} | more.pop("given", {})
    page = {
        "rows": rows, "choices": {name: choices(given, name, ("done", "dead")) for name in given},
        "chosen": {name: value for name, value in given.items() if value}, "without": dict.fromkeys(given, "/console"),
        "older": None, "is_first": True, "first": "/console/jobs", "looked_at": 1284, "back_to": NOW, "now": NOW,
        "gateway": "localhost:8080", "words": "",
    }  # fmt: skip
    return rendered("jobs.html", "/console/jobs", **(page | more))


@pytest.mark.parametrize(
    ("words", "meant"),
    [("4F4f", True), ("4f4f0", False), ("MARGIN rose", True), ("margin fell", False), ("filings reports", True)],
)
def test_a_job_is_found_by_the_beginning_of_its_id_or_by_all_words(words: str, meant: bool) -> None:
    assert is_meant(JobRow(record(), "How the margin rose"), words) == meant


def test_what_was_searched_for_stays_in_the_field_and_no_newer_jobs_push_in() -> None:
    page = jobs_page([JobRow(record())], words=HOSTILE, chosen={"q": HOSTILE, "state": "dead"})
    assert page.all("input", name="q") != []
    assert page.all("input", name="state", value="dead") != []
    assert [found for _, found in page.elements if "data-live-rows" in found] == []


def test_jobs_are_listed_with_what_was_asked() -> None:
    rows = [
        JobRow(record(), HOSTILE),
        JobRow(record(job_id="aa" * 16, state="dead", reason=HOSTILE, ended=NOW), "毛利率"),
    ]
    page = jobs_page(rows)
    assert "● running" in page.text
    assert "☠ dead" in page.text
    assert page.all("span", lang="zh") != []
    assert "<script>alert" not in page.html
    assert "⟨U+202E⟩gnp.exe" in page.text


def test_an_empty_list_is_told_from_a_filter_that_fits_nothing() -> None:
    assert "No job yet" in jobs_page([]).text
    filtered = jobs_page([], given={"state": "dead"}).text
    assert "0 of the 1,284 jobs that were looked at fit." in filtered
    assert "drop state=dead" in filtered


def test_dead_jobs_are_grouped_by_reason() -> None:
    rows = [
        record(job_id=name * 32, state="dead", reason=f"gave up after {count} attempts: 'a{count}' is away", ended=NOW)
        for name, count in (("a", 3), ("b", 5))
    ]
    found = groups([*rows, record(kind="files", state="dead", reason=HOSTILE)])
    assert [(group.kind, len(group.rows)) for group in found] == [("reports", 2), ("files", 1)]
    page = rendered("dead.html", "/console/dead", groups=found, now=NOW, done="replay", number=2)
    assert "2 × reports" in page.text
    assert len(page.all("input", type="checkbox", name="job")) == 3
    assert "Nothing is dead" in rendered("dead.html", groups=[], now=NOW, done="", number="").text


@pytest.mark.parametrize("kind", KINDS)
def test_search_forms_are_whole(kind: Any) -> None:
    given = {"query": [HOSTILE], "filter": [HOSTILE]}
    form = form_of(kind, REQUESTS[kind], given, {"filter": HOSTILE})
    page = rendered("search.html", f"/console/search/{kind}", tabs=TABS, held={kind: ["filings"]}, form=form,
                    collection="gone", wrong={"collection": "holds nothing"}, others=[HOSTILE])  # fmt: skip
    assert len([found for tag, found in page.elements if found.get("name") == "query"]) == 1
    assert "⟨U+202E⟩gnp.exe" in page.text


def test_a_report_is_read_at_the_page_that_was_cited() -> None:
    document = {"sha1": "a1", "title": HOSTILE, "note": {"a": 2**60}, "pages": [
        {"page": number, "text": f"page {number} says {HOSTILE}"} for number in (1, 42, 43)]}  # fmt: skip
    reading = reading_of("reports", "a1", document, None, page="42")
    assert (reading.before, reading.after) == (1, 43)
    page = rendered(
        "reader.html", collection="c", kind="reports", document="a1", reading=reading, hit=None, picture=None
    )
    assert "Left out or read otherwise" not in page.text
    assert "page 42 says" in page.text
    assert "page 43 says" not in page.text
    assert str(2**60) in page.text


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("reports", {"pages": [{"page": 1, "text": "x"}]}),
        ("messages", {"messages": [{"text": "x"}]}),
        ("conversations", {"messages": [{"text": "x"}]}),
    ],
)
def test_what_of_a_document_was_left_out_stands_on_its_page(kind: Retriever, parts: dict[str, Any]) -> None:
    document = {**parts, "remarks": [f"sheet {HOSTILE}: 3 hidden rows", "b"]}
    reading = reading_of(kind, "a1", document, None)
    page = rendered("reader.html", collection="c", kind=kind, document="a1", reading=reading, hit=None, picture=None)
    assert "Left out or read otherwise: 2" in page.text
    assert page.text.count("3 hidden rows") == 1


@pytest.mark.parametrize(
    ("question", "marked"),
    [
        ("how many ships are there?", "Nine ships sail."),
        ("gross profit", "| Gross profit | 16,896 |"),
        ("weather", "The fleet grew. Nine ships sail.\n| EUR | 2021 |\n| --- | --- |\n| Gross profit | 16,896 |"),
    ],
)
def test_the_sentence_that_says_most_of_the_question_is_marked(question: str, marked: str) -> None:
    text = "The fleet grew. Nine ships  sail.\n| EUR | 2021 |\n| --- | --- |\n| Gross profit | 16,896 |"
    hit = HitView(hit=None, title="t", text=text)
    pages = [{"page": 1, "text": f"Before. {text} After."}]
    (passage,) = reading_of("reports", "a1", {"pages": pages}, hit, question=question).passages
    ((start, end),) = passage.marks
    assert " ".join(passage.text[start:end].split()) == " ".join(marked.split())


def test_a_message_is_read_among_its_neighbours() -> None:
    at = "2026-01-23T17:19:55.590000Z"
    messages = [
        {"message_id": f"m{number}", "role": "user", "text": f"said {number}", "created_at": at}
        for number in range(100)
    ]
    reading = reading_of("messages", "s1", {"session_id": "s1", "messages": messages}, None, message="m50")
    assert [passage.is_here for passage in reading.passages].count(True) == 1
    assert (reading.passages[0].text, reading.passages[0].facts) == ("said 35", ("user", "2026-01-23 17:19:55 UTC"))
    assert reading.left_out == 100 - len(reading.passages)


def test_a_message_without_an_id_is_read_by_its_number() -> None:
    messages = [{"role": "user", "text": f"said {number}"} for number in range(1, 101)]
    for wanted, at in (("50", ["said 50"]), ("0", []), ("101", []), ("m1", [])):
        reading = reading_of("messages", "s1", {"session_id": "s1", "messages": messages}, None, message=wanted)
        assert [passage.text for passage in reading.passages if passage.is_here] == at


def test_ranks_add_up() -> None:
    fields = {"base": 0.2, "depth": 0.4, "reference": 0.5, "quality": 0.5, "recency": 0.9}
    rank = sum(WEIGHTS[name] * value for name, value in fields.items())
    session = RankedSession.model_validate(
        fields | {"session_id": HOSTILE, "name": None, "last_active": "2026-03-01T00:00:00Z", "rank": round(rank, 4),
                  "references": 2.5})  # fmt: skip
    assert rank_row(session).adds_up
    assert not rank_row(session.model_copy(update={"rank": 0.9})).adds_up
    page = rendered("ranks.html", collection="c", rows=[rank_row(session)], waiting=3, weights=WEIGHTS)
    assert "adds up ✓" in page.text


def test_documents_are_listed_and_dropped_only_by_who_may() -> None:
    card = {"id": HOSTILE, "title": HOSTILE, "size": 3, "unit": "pages", "metadata": {"a": HOSTILE}, "pending": 2}
    found = DocumentList.model_validate({"job_id": "j", "total": 1, "complete": True, "retriever": "reports",
                                         "collection": "c", "documents": [card]})  # fmt: skip
    page = {"collection": "c", "kind": "reports", "found": found, "given": "", "wrong": "", "next": None}
    may = rendered("documents.html", **page, may_drop=True, asks_to_drop=False)
    may_not = rendered("documents.html", **page, may_drop=False, asks_to_drop=False)
    assert "2 wait for a vector" in may.text
    assert may.all("input", name="id") != []
    assert may_not.all("input", name="id") == []


def test_problems_are_pages_for_those_who_look_and_details_for_others() -> None:
    shown = respond(scope_of("/console/jobs"), Problem("unavailable", HOSTILE))
    page = read_page(bytes(shown.body).decode(), shown.headers)
    assert shown.status_code == 503
    assert "What workers hold in their hands goes on" in page.text
    assert json.loads(bytes(respond(scope_of("/v1/jobs"), Problem("bug")).body))["status"] == 500
    away = respond(scope_of("/console/jobs", None), Problem("unauthorized"))
    assert (away.status_code, away.headers["location"]) == (303, "/console/sign-in?next=%2Fconsole%2Fjobs")


def test_every_page_is_guarded() -> None:
    page = rendered("sign_in.html", "/console/sign-in", None, next="/console", wrong="this key is not valid")
    assert page.headers["Content-Security-Policy"] == POLICY
    assert "unsafe" not in POLICY
    assert page.headers["Referrer-Policy"] == "same-origin"
    assert page.headers["Cache-Control"] == "no-store"
    cookie = page.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    session = page.headers["set-cookie"].partition("=")[2].partition(";")[0]
    assert page.all("input", name="token", value=form_token(session)) != []


def test_refusals_of_providers_are_listed_with_their_jobs() -> None:
    refused = {"m": [{"what": HOSTILE, "step": "hyde", "job_id": "ab" * 16, "at": NOW - 5, "address": "http://a/v1"},
                     {"what": "HTTP 429", "step": "", "job_id": "", "at": NOW - 9, "address": ""}]}  # fmt: skip
    learned = {"some-chat": [{"what": "refuses temperature", "address": "http://127.0.0.1/v1", "at": NOW - 90}]}
    page = rendered("providers.html", providers=[], learned=learned, refusals=refused, now=NOW, caches=None,
                    counts={}, waits={}, waited_ms={}, refused={}, calls={}, set_aside={})  # fmt: skip
    assert "5 s ago" in page.text
    assert "refuses temperature" in page.text
    assert "90 s ago" in page.text or "1 min" in page.text
    assert page.all("a", href=f"/console/jobs/{'ab' * 16}") != []


def batch(**fields: Any) -> BatchBody:
    plain = BatchBody(
        batch="b" * 32, collection="c", kind="reports", jobs={"done": 40, "running": 2}, gone=8, accepted=500,
        stored=480, rejected=1, first_rejected=[RejectedLine(line=7, field="title", rule=HOSTILE)],
        began_at=NOW - 60, is_open=False,
    )  # fmt: skip
    return plain.model_copy(update=fields)


def test_an_ingestion_says_how_far_it_is_and_what_was_refused() -> None:
    page = rendered("ingestion.html", batch=batch(), progress=ingestions.progress_of(batch(), NOW), now=NOW)
    assert "480 of 500 documents are searchable, 1 refused, about 2 s left." in page.text
    assert '<td class="n">7</td>' in page.html
    assert [found for _, found in page.elements if found.get("data-live") == "2"] != []


def test_an_ingestion_that_is_over_is_not_looked_at_again() -> None:
    over = batch(jobs={"done": 50}, gone=0, stored=500, rejected=0, first_rejected=[])
    page = rendered("ingestion.html", batch=over, progress=ingestions.progress_of(over, NOW), now=NOW)
    assert "500 of 500 documents are searchable." in page.text
    assert [found for _, found in page.elements if found.get("data-live")] == []


@pytest.mark.parametrize(
    ("fields", "left_s", "is_open"),
    [
        ({}, 2.5, True),
        ({"stored": 0}, None, True),
        ({"is_open": True, "jobs": {"done": 50}, "stored": 500}, None, True),
        ({"jobs": {"done": 49, "dead": 1}, "stored": 490}, None, False),
    ],
)
def test_the_time_left_follows_from_the_rate(fields: dict[str, Any], left_s: float | None, is_open: bool) -> None:
    found = ingestions.progress_of(batch(**fields), NOW)
    assert (found.left_s, found.is_open) == (left_s, is_open)


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({}, "running"),
        ({"jobs": {"done": 50}, "stored": 500, "rejected": 0}, "done"),
        ({"jobs": {"done": 50}, "stored": 500}, "incomplete"),
        ({"jobs": {"done": 49, "dead": 1}, "stored": 490, "rejected": 0}, "incomplete"),
        ({"jobs": {"dead": 50}, "stored": 0, "gone": 0}, "failed"),
        ({"jobs": {}, "accepted": 0, "stored": 0, "gone": 0, "rejected": 41}, "failed"),
        ({"jobs": {}, "accepted": 0, "stored": 0, "gone": 0, "rejected": 0}, "done"),
    ],
)
def test_an_ingestion_that_stored_nothing_has_failed(fields: dict[str, Any], outcome: str) -> None:
    assert ingestions.progress_of(batch(**fields), NOW).outcome == outcome


def test_an_ingestion_of_which_every_line_was_refused_looks_so() -> None:
    refused = batch(jobs={}, accepted=0, stored=0, gone=0, rejected=41)
    progress = ingestions.progress_of(refused, NOW)
    said = "✕ failed 0 of 41 documents are searchable, 41 refused."
    page = rendered("ingestion.html", batch=refused, progress=progress, now=NOW)
    assert said in page.text
    assert page.all("section", class_="verdict bad") != []
    assert said in rendered("ingestions.html", rows=[(refused, progress)], now=NOW, gateway="localhost:8080").text


def test_the_overview_leads_to_uploads_that_were_refused() -> None:
    (found,) = overview.findings(figures(), refused=[overview.RefusedUpload("b" * 32, "reports", "filings", 41)])
    assert (found.said, found.level) == ("All 41 lines of an upload of reports into filings were refused.", "warn")
    assert found.at == "/console/ingestions/" + "b" * 32


def test_ingestions_are_listed_with_their_progress() -> None:
    rows = [(batch(collection=HOSTILE), ingestions.progress_of(batch(), NOW))]
    page = rendered("ingestions.html", rows=rows, now=NOW, gateway="localhost:8080")
    assert page.all("a", href="/console/ingestions/" + "b" * 32) != []
    assert "480 of 500" in page.text
    assert "No ingestion" in rendered("ingestions.html", rows=[], now=NOW, gateway="localhost:8080").text


def test_a_queue_whose_slots_are_all_busy_is_full_and_its_line_is_drawn() -> None:
    found = figures(queues=[{"queue": "ingest", "workers": 1, "slots": 8, "running": 0, "waiting": 9, "oldest_s": 1.0}])
    found["workers"][0]["busy"] = 8
    seen = [(0, 0), (20, 10), (20, 40)]
    minutes = [Minute(NOW, passed_s, (), {"steps_run/ingest": run}) for passed_s, run in seen]
    (queue,) = overview.queue_rows(found, minutes)
    assert (queue.busy, queue.is_full, queue.rates) == (8, True, (30.0, 120.0))
    page = overview_page(found, queues=[queue])
    assert "8/8 full" in page.text
    assert page.all("polyline") != []
    assert overview.points_of((0, 4, 2)) == "0,13 30,1 60,7"


def test_the_last_day_is_drawn_from_the_history_and_told_by_the_hour() -> None:
    last = {"ended/reports/done": 6, "ended/embed/dead": 2, "incomplete/reports": 1, "took/reports/0.25": 5,
            "took/reports/2.5": 1}  # fmt: skip
    minutes = [
        Minute(NOW - 3 * 3_600, 60, (), {"ended/reports/done": 16, "took/reports/0.1": 16}),
        Minute(NOW, 60, (), last),
    ]
    found = day.day_of(minutes, NOW)
    assert found is not None
    slot = found.slots[-1]
    assert (slot.ended, slot.incomplete, slot.failed, slot.half_s, slot.most_s) == (8, 1, 2, 0.25, 2.5)
    assert [bar.css for bar in found.ended] == ["complete", "failed", "incomplete", "complete"]
    assert [round(bar.height) for bar in found.ended] == [48, 6, 3, 15]  # of 16 jobs at most
    assert all(0 <= bar.x <= bar.x + bar.width <= 100 for bar in (*found.took, *found.ended))
    page = overview_page(figures(), day=found)
    assert "Last 24 hours 24 jobs ended, 1 incomplete, 2 failed" in page.text
    assert "8 ended, 1 incomplete, 2 failed; of the questions, half within 0.25 s, 95 % within 2.5 s" in page.text
    assert day.day_of([], NOW) is None


@pytest.mark.parametrize(("passed_s", "points"), [(60, 3), (180, 5), (86_400, 60)])
def test_a_time_without_workers_takes_its_place_in_the_line(passed_s: float, points: int) -> None:
    minutes = [Minute(NOW, seconds, (), {"ended/reports/done": 60}) for seconds in (60, passed_s, 60)]
    rates = overview.rates_of("ended/", minutes)
    assert len(rates) == points
    assert rates[-2:] == pytest.approx((3_600 / passed_s, 60))


def test_the_last_hour_is_one_line_with_its_latency() -> None:
    took = {
        "took/reports/0.1": 6,
        "took/reports/inf": 1,
        "took/embed/5": 13,
        "ended/reports/done": 7,
        "ended/embed/failed": 13,
    }
    hour = overview.hour_of([Minute(NOW - 60, 60, (), {}), Minute(NOW, 60, (), took)])
    assert hour is not None
    assert (hour.per_minute, hour.half_within_s, hour.most_within_s) == (10, 5.0, 5.0)
    page = overview_page(figures(), hour=hour)
    assert "per min, last hour10 half within5 s 95 % within5 s" in page.text
    assert overview.hour_of([Minute(NOW, 0, (), {})]) is None
    quiet = overview.hour_of([Minute(NOW, 60, (), {})])
    assert quiet is not None
    assert (quiet.per_minute, quiet.most_within_s) == (0, None)


def test_the_matrix_of_workers_says_how_busy_they_are_and_which_queue_is_deserted() -> None:
    found = figures()
    found["workers"].append(found["workers"][0] | {"name": HOSTILE, "busy": None})
    found["queues"][0]["workers"] = 0
    page = rendered("workers.html", workers=found["workers"], queues=overview.queue_rows(found),
                    leases_lost=0, now=NOW)  # fmt: skip
    assert "3/8" in page.text
    assert "–/8" in page.text
    assert "✕ nobody" in page.text
    assert [found for tag, found in page.elements if tag == "td" and "deserted" in str(found.get("class"))] != []


def test_what_is_spent_stands_on_the_overview_of_who_operates() -> None:
    cost = ModelCost(model="m", calls=3, input_tokens=900, output_tokens=0, cost_nanos=18_000, currency="USD")
    sums = [Sums("2026-07-27", dimension, HOSTILE, (cost,)) for dimension in DIMENSIONS]
    budgets = [Budget("0123456789ab", 20_000, spent, 3_600) for spent in (1, 17_000, 20_000)]
    spent = spent_of(sums, 1_785_110_400, days=31, budgets=budgets)
    page = overview_page(figures(), spent=spent)
    assert "What it costs" in page.text
    assert page.text.count("USD 0.000018") == 5
    assert [said in page.text for said in ("✓ all", "⚠ no expansions", "✕ nothing more, for ")] == [True] * 3
    assert "What it costs" not in overview_page(figures(), SEARCHER, spent=spent).text
