"""The console in a browser, with real jobs: what people do there, live, without a reload."""

import re
import threading
from contextlib import closing
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from querymill import Querymill, ReportSearch
from querymill_shared.board import ValkeyBoard, Verdict
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.settings import Settings
from tests.browser.conftest import PATIENCE_MS, OpenPage
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer, chat_stream, held, method_of
from tests.fixtures.boards import board_of
from tests.fixtures.gateways import GatewayHere

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture
def opened(openai_server: OpenAIServer) -> threading.Event:
    """The chat model answers once this is set: expansions one new query, questions with citations."""
    gate = threading.Event()

    def chat(request: dict[str, Any]) -> Answer:
        if request.get("stream"):
            return chat_stream("The fleet ", "counts nine ships [1].")
        text = "| ships | nine |" if method_of(request) == "hyde" else f"<{uuid4().hex} ships>"
        return chat_answer(text)

    openai_server.script.chat = held(gate, chat)
    return gate


def open_job(mill: Querymill) -> str:
    """A job that nobody works: its bell is never rung."""
    texts = [{"id": "a", "text": uuid4().hex}]
    job_id, _ = board_of(mill).submit(EmbedTexts.model_validate({"collection": "endless", "texts": texts}))
    return job_id


def main_of(page: Page) -> str:
    """What the page shows, without what differs from one moment to the next."""
    shown = page.locator("main").inner_text()
    return re.sub(r"\d[\d.,]* (ms|s|min)( \d+ s)?\b", "…", shown)


def test_a_search_is_asked_watched_and_its_citation_followed(
    open_page: OpenPage, filings: str, opened: threading.Event
) -> None:
    question = f"how many ships does the fleet count {uuid4().hex[:6]}"
    with open_page(f"/console/search/reports?collection={filings}") as page:
        page.get_by_label("query", exact=True).fill(question)
        page.get_by_label("answer", exact=True).check()
        page.get_by_label("hyde").check()
        page.get_by_role("button", name="Search").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(question)
        expect(page.locator("#s-head")).to_contain_text("running")
        expect(page.locator("#s-hits")).to_contain_text("Nordhav Shipping 2022")  # before the chat model replied
        opened.set()
        expect(page.locator("#s-head")).to_contain_text("done")
        expect(page.locator("#live")).to_have_text("ended")
        live = main_of(page)
        page.reload()
        assert main_of(page) == live
        page.locator("#raw > summary").click()
        page.locator("#hit-1").get_by_role("link", name="how the score comes about").click()
        expect(page.locator("#hit-1 .tree").first).to_be_visible()
        expect(page.locator("#hit-1")).to_contain_text("adds up ✓")
        page.get_by_role("link", name="[1]").click()
        expect(page).to_have_url(re.compile("#hit-1$"))
        page.locator("#hit-1 h3 a").click()
        expect(page.locator("mark")).to_contain_text("the fleet counts nine ships")


@pytest.mark.nightly  # by day: a search that is asked, above
def test_a_question_is_asked_by_enter_and_edited(open_page: OpenPage, filings: str, opened: threading.Event) -> None:
    opened.set()
    asked = uuid4().hex[:6]
    with open_page("/") as page:
        expect(page).to_have_url(re.compile("/console$"))
        page.keyboard.press("g")
        page.keyboard.press("s")
        query = page.locator("[name=query]")
        expect(query).to_be_focused()
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        expect(query).to_be_focused()
        page.goto(f"/console/search/reports?collection={filings}&candidates=40")
        page.keyboard.type(f"ships {asked}")
        page.keyboard.press("Shift+Enter")
        page.keyboard.type("of the fleet")
        page.keyboard.press("Enter")
        expect(page.locator("#s-head")).to_contain_text("done")
        page.get_by_role("link", name="Edit").click()
        expect(query).to_have_value(f"ships {asked}\nof the fleet")
        expect(page.locator("[name=candidates]")).to_have_value("40")
        expect(page.locator("[name=collection]")).to_have_value(filings)
        query.press("Enter")
        expect(page.locator("#s-head")).to_contain_text("done")
        page.get_by_role("link", name="Compare").click()
        expect(page.get_by_role("region", name="The runs")).to_contain_text("the same, with the same options")
        expect(page.get_by_role("region", name="Hits")).to_contain_text("same, in the same places")
        page.goto("/console/search")  # what was asked last is chosen again
        expect(page.locator("[name=collection]")).to_have_value(filings)


def test_a_form_that_breaks_a_rule_comes_back_with_the_rule(open_page: OpenPage, filings: str) -> None:
    with open_page(f"/console/search/reports?collection={filings}&query=margins&candidates=1") as page:
        page.get_by_role("button", name="Search").click()
        expect(page.locator("#w-candidates")).to_contain_text("at least")
        expect(page.locator("[name=query]")).to_have_value("margins")


def test_a_job_is_cancelled(open_page: OpenPage, quiet_mill: Querymill, quiet_gateway: GatewayHere) -> None:
    with open_page(f"/console/jobs/{open_job(quiet_mill)}", at=quiet_gateway.url) as page:
        page.get_by_role("button", name="Cancel").click()
        expect(page.locator("#s-head")).to_contain_text("⊘ cancelled")


def test_a_dead_job_is_replayed(
    open_page: OpenPage, quiet: Settings, quiet_mill: Querymill, quiet_gateway: GatewayHere
) -> None:
    job_id = open_job(quiet_mill)
    with closing(ValkeyBoard.connect(quiet)) as board:
        board.settle(job_id, Verdict("dead", reason="its worker died three times"))
    with open_page("/console/dead", at=quiet_gateway.url) as page:
        expect(page.locator("main")).to_contain_text("its worker died three times")
        page.get_by_role("button", name="Replay chosen").click()
        expect(page.locator("main")).to_contain_text("1 replayed")
        page.goto(f"/console/jobs/{job_id}")
        expect(page.locator("#s-head")).to_contain_text("○ queued")


def test_failed_jobs_are_not_well_and_lead_to_their_list(
    open_page: OpenPage, quiet: Settings, quiet_mill: Querymill, quiet_gateway: GatewayHere
) -> None:
    with closing(ValkeyBoard.connect(quiet)) as board:
        for number in range(12):
            job_id = open_job(quiet_mill)
            done = Verdict("done", result="{}", complete=number % 2 == 0)
            board.settle(
                job_id, Verdict("failed", reason="the model is away", code="provider_down") if number < 8 else done
            )
    with open_page("/console", at=quiet_gateway.url) as page:
        verdict = page.get_by_role("region", name="Verdict")
        expect(verdict).to_contain_text(re.compile(r"[0-9]+ of [0-9]+ jobs \(.*\) failed in the last 5 min\."))
        expect(verdict).not_to_contain_text("All is well")
        expect(page.locator("main")).to_contain_text("Last 5 min")
        verdict.get_by_role("link", name="read why under the failed jobs").click()
        expect(page.locator("main")).to_contain_text("✕ failed")
        expect(page.locator("main")).not_to_contain_text("✓ done")


def test_a_page_goes_on_after_the_gateway_was_restarted(
    open_page: OpenPage, quiet: Settings, quiet_mill: Querymill
) -> None:
    first = GatewayHere(quiet)
    job_id = open_job(quiet_mill)
    first.__enter__()
    with open_page(f"/console/jobs/{job_id}", at=first.url) as page:
        expect(page.locator("#live")).to_have_text("live")
        first.__exit__()
        expect(page.locator("#live")).to_contain_text("reconnecting")
        quiet_mill.job(job_id).cancel()
        with GatewayHere(quiet, port=first.port):
            expect(page.locator("#s-head")).to_contain_text("⊘ cancelled")
            live = main_of(page)
            page.reload()
            assert main_of(page) == live


@pytest.mark.nightly  # by day: raw events on a phone, below, and test_pictures.py
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (375, "dark")])
def test_no_page_is_wider_than_the_screen(open_page: OpenPage, filings: str, width: int, scheme: str) -> None:
    paths = (
        "", "/jobs", "/search/reports", "/collections", f"/collections/{filings}", f"/collections/{filings}/reports/a1",
        "/dead", "/providers", "/workers", "/jobs/none",
    )  # fmt: skip
    with open_page("/console", width=width, scheme=scheme) as page:
        for path in paths:
            page.goto(f"/console{path}")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path


#: Words in cells of tables that stand on two lines.
BROKEN_WORDS = """() => {
  const broken = [], range = document.createRange();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = texts.nextNode()); ) {
    if (!text.parentElement.closest("td, th")) continue;
    for (const word of text.data.matchAll(/[A-Za-z]{3,14}/g)) {
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) broken.push(word[0]);
    }
  }
  return broken;
}"""


@pytest.mark.nightly
def test_no_word_of_a_table_is_broken_on_a_phone(
    open_page: OpenPage, filings: str, quiet_mill: Querymill, quiet_gateway: GatewayHere
) -> None:
    for path in ("", "/collections", f"/collections/{filings}", "/ingestions", "/jobs", "/providers"):
        with open_page(f"/console{path}", width=375) as page:
            assert page.evaluate(BROKEN_WORDS) == [], path
    collection = "quarterly-filings-of-shipping-companies"
    board_of(quiet_mill).announce("reports", [collection])
    quiet_mill.submit(ReportSearch(query="how many ships are there", collection=collection, deadline=500))
    with open_page("/console/jobs", width=375, at=quiet_gateway.url) as page:
        assert collection in (page.text_content("main") or "")
        assert page.evaluate(BROKEN_WORDS) == []


#: On how many lines the first cells of the raw events stand, at most.
LINES_OF_FIRST_CELLS = """() => Math.max(...[...document.querySelectorAll("#raw tbody td:first-child")].map((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size;
}))"""


def test_raw_events_fit_a_phone(open_page: OpenPage, mill: Querymill, filings: str) -> None:
    job = mill.submit(ReportSearch(query="how many ships", collection=filings))
    job.result(timeout=30)
    with open_page(f"/console/jobs/{job.id}", width=375) as page:
        page.locator("#raw > summary").click()
        assert page.evaluate(LINES_OF_FIRST_CELLS) == 1


def test_a_long_question_leaves_room_for_the_verdict_on_a_phone(
    open_page: OpenPage, quiet_mill: Querymill, quiet_gateway: GatewayHere
) -> None:
    board_of(quiet_mill).announce("reports", ["filings"])
    question = "How did margins develop, and which part of the change came from freight costs? " * 5
    job = quiet_mill.submit(ReportSearch(query=question, collection="filings", deadline=500))
    with open_page(f"/console/jobs/{job.id}", width=375, at=quiet_gateway.url) as page:
        assert page.evaluate("document.querySelector('.facts-line').getBoundingClientRect().bottom") < 667


def test_keys_lead_through_the_pages(open_page: OpenPage, quiet_mill: Querymill, quiet_gateway: GatewayHere) -> None:
    job_id = open_job(quiet_mill)
    with open_page("/console", at=quiet_gateway.url) as page:
        page.keyboard.press("g")
        page.keyboard.press("j")
        expect(page).to_have_url(re.compile("/console/jobs$"))
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(f"/console/jobs/{job_id}"))
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_be_hidden()
