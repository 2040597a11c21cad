"""The ten questions that people bring to the console: each is answered by one screen, without scrolling."""

from collections.abc import Iterator
from contextlib import closing
from uuid import uuid4

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from querymill import EmbedTexts, Job, Querymill, ReportResult, ReportSearch, TextToEmbed
from querymill_shared.board import ValkeyBoard, Verdict
from querymill_shared.settings import Settings
from tests.browser.conftest import OpenPage
from tests.fakes.openai_server import Answer, OpenAIServer
from tests.fixtures.gateways import GatewayHere
from tests.fixtures.short_forms import all_at_night

PAGES = [{"page": 1, "text": "nine ships sail"}]
SIZES = pytest.mark.parametrize("width", all_at_night([1280, 375], short=[1280]))


def answers(found: Locator, *said: str) -> None:
    """Check that an answer is on the screen as the page opens."""
    for text in said:
        expect(found).to_contain_text(text)
    expect(found).to_be_in_viewport()


@pytest.fixture
def lacking(mill: Querymill, filings: str, openai_server: OpenAIServer) -> Job[ReportResult]:
    """A search that ended without one of its branches: the chat model refused."""
    openai_server.script.chat = lambda request: Answer(b'{"error": {"message": "no"}}', status=400)
    question = f"how many ships does the fleet count {uuid4().hex[:6]}"
    job = mill.submit(ReportSearch(query=question, collection=filings, hyde=True))
    assert not job.result(timeout=30).complete
    return job


@pytest.fixture
def stuck(quiet: Settings, quiet_mill: Querymill) -> Iterator[str]:
    """A job on a queue that nobody listens on."""
    job = quiet_mill.submit(EmbedTexts(collection="endless", texts=(TextToEmbed(id="a", text=uuid4().hex),)))
    yield job.id
    job.cancel()


@SIZES
def test_what_is_wrong_and_what_is_stuck(
    open_page: OpenPage, quiet_gateway: GatewayHere, stuck: str, width: int
) -> None:
    with open_page("/console", width=width, at=quiet_gateway.url) as page:
        answers(page.locator(".verdict").first, "No worker is alive.", "Mend: querymill worker")
        waiting = page.get_by_role("region", name="Waiting longest")
        answers_at_a_desk(waiting.get_by_role("row").nth(1), width, stuck[:6], "nobody listens")


def answers_at_a_desk(found: Locator, width: int, *said: str) -> None:
    """Check a table: on a phone it may stand below the line that answers."""
    for text in said:
        expect(found).to_contain_text(text)
    if width > 1000:
        expect(found).to_be_in_viewport()


@SIZES
def test_why_a_job_was_slow_what_it_lacks_and_why_a_hit_stands_where_it_does(
    open_page: OpenPage, lacking: Job[ReportResult], width: int
) -> None:
    with open_page(f"/console/jobs/{lacking.id}", width=width) as page:
        answers(page.locator("#s-head .facts-line"), "done, incomplete")
        answers(page.locator("#s-missing"), "hyde: the chat model refused", "Hits are from 1 of 2 branches.")
        answers_at_a_desk(page.locator("#s-time"), width, "original", "hyde")
        page.goto(f"/console/jobs/{lacking.id}?hit=1#hit-1")
        answers(page.locator("#hit-1 .equation").first, "adds up ✓")


@SIZES
def test_why_not_that_document(open_page: OpenPage, lacking: Job[ReportResult], width: int) -> None:
    with open_page(f"/console/jobs/{lacking.id}#why-not", width=width) as page:
        page.get_by_label("Why not").fill("b1")
        page.get_by_role("button", name="Ask").click()
        answers(page.locator("#s-missed h2"), "Why not b1?")
        answers_at_a_desk(page.locator("#s-missed .gates"), width, "✓ collection", "✓ filter", "top_n")


@SIZES
def test_what_the_provider_refused(open_page: OpenPage, lacking: Job[ReportResult], width: int) -> None:
    with open_page("/console/providers", width=width) as page:
        refused = page.get_by_role("region", name="Refused by")
        answers_at_a_desk(refused.get_by_role("row").nth(1), width, "400", lacking.id[:6])


@SIZES
def test_whether_an_ingestion_is_done(open_page: OpenPage, gateway: GatewayHere, worker: object, width: int) -> None:
    rows = b'{"sha1": "q1", "title": "One", "company": "A", "pages": [{"page": 1, "text": "ships"}]}\n{"title": 1}\n'
    sent = httpx.post(
        f"{gateway.url}/v1/collections/ten/reports", content=rows, headers={"Content-Type": "application/x-ndjson"}
    ).json()
    with open_page(f"/console/ingestions/{sent['batch']}", width=width) as page:
        answers(page.locator(".verdict"), "1 of 1 documents are searchable", "1 refused")
        answers_at_a_desk(page.get_by_role("region", name="Refused lines"), width, "2")


@SIZES
def test_what_failed_for_good(
    open_page: OpenPage, quiet: Settings, quiet_gateway: GatewayHere, stuck: str, width: int
) -> None:
    with closing(ValkeyBoard.connect(quiet)) as board:
        board.settle(stuck, Verdict("dead", reason="its worker died three times"))
    with open_page("/console/dead", width=width, at=quiet_gateway.url) as page:
        group = page.locator("section", has_text="its worker died three times")
        answers(group.get_by_role("heading"), "× embed")
        expect(group.get_by_role("button", name="Replay chosen")).to_be_in_viewport()


@SIZES
def test_what_is_stored_and_where_a_citation_comes_from(
    open_page: OpenPage, filings: str, lacking: Job[ReportResult], width: int
) -> None:
    with open_page(f"/console/collections/{filings}", width=width) as page:
        answers(page.get_by_role("main"), "reports", "3")
        page.goto(f"/console/jobs/{lacking.id}")
        page.locator("#hit-1 h3 a").click()
        shown_passage(page)


def shown_passage(page: Page) -> None:
    answers(page.locator("mark").first, "the fleet counts nine ships")
