"""Accessibility: axe finds nothing serious on any page of the console, in both themes, on a desk and on a phone."""

import shutil
import subprocess
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest
from playwright.sync_api import Page

from querymill import Querymill, ReportSearch
from tests.browser.conftest import OpenPage
from tests.fakes.openai_server import OpenAIServer

HERE: Final = Path(__file__).parent / "axe"
PATHS: Final = (
    "", "/jobs", "/jobs?state=incomplete", "/jobs/{job}", "/jobs/{job}?hit=1", "/jobs/{job}/compare?with={job}",
    "/jobs/none", "/search/reports",
    "/search/messages", "/search/modules", "/search/files", "/search/conversations", "/collections",
    "/collections/{collection}", "/collections/{collection}/reports", "/collections/{collection}/reports/a1",
    "/collections/{collection}/conversations/ranks", "/ingestions", "/ingestions/none", "/dead", "/providers",
    "/workers", "/sign-in",
)  # fmt: skip
#: What nobody gets past.
MAIN: Final = ("", "/search/reports", "/jobs/{job}?hit=1")
SEEN: Final = tuple(product(("light", "dark"), (1280, 375)))
#: Opens what is closed, and asks axe. What a page repeats is named once.
FIND: Final = """async () => {
  document.querySelectorAll("details").forEach((each) => { each.open = true; });
  const found = await axe.run(document, { resultTypes: ["violations"] });
  return found.violations.filter((each) => ["serious", "critical"].includes(each.impact))
    .map((each) => `${each.id}: ${each.nodes[0].html.slice(0, 200)} ${each.nodes[0].failureSummary.slice(0, 300)}`);
}"""


@pytest.fixture(scope="module")
def axe() -> str:
    """The script of axe-core, which npm installs."""
    script = HERE / "node_modules" / "axe-core" / "axe.min.js"
    if not script.is_file():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm is not installed: axe-core comes from there")
        done = subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=HERE, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"npm cannot install axe-core: {done.stderr[-200:]}")
    return str(script)


def faults_of(page: Page, axe: str) -> list[str]:
    page.add_script_tag(path=axe)
    found: list[str] = page.evaluate(FIND)
    return found


@pytest.mark.parametrize(
    ("scheme", "width", "paths"),
    [
        pytest.param("dark", 375, MAIN, id="dark-375-main"),
        *(pytest.param(*seen, PATHS, id="{}-{}".format(*seen), marks=pytest.mark.nightly) for seen in SEEN),
    ],
)
def test_no_page_has_a_serious_fault(
    open_page: OpenPage, axe: str, mill: Querymill, filings: str, openai_server: OpenAIServer,
    width: int, scheme: Any, paths: Sequence[str],
) -> None:  # fmt: skip
    job = mill.submit(ReportSearch(query=f"how many ships {uuid4().hex[:6]}", collection=filings, hyde=True))
    job.result(timeout=30)
    faults: dict[str, list[str]] = {}
    # Its policy lets no script in from elsewhere, and axe is one.
    with open_page("/console", width=width, scheme=scheme, bypass_csp=True) as page:
        for path in paths:
            at = path.format(job=job.id, collection=filings)
            page.goto(f"/console{at}")
            if found := faults_of(page, axe):
                faults[at] = found
    assert faults == {}
