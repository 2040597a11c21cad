"""The pages hold what they promise: they are short, stand in the site, and name only what exists."""

import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.mentions import PAGES, wrong_commands, wrong_metrics, wrong_routes, wrong_settings
from tests.fixtures.reference import PAGES as REFERENCE
from tests.fixtures.reference import pages
from tests.fixtures.site import CONFIGURATION, DOCS, ROOT, BrokenLinks, build, links, reached

MAX_LINES = 150
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
#: A path of the repository, by the folder that it begins with.
_PATH = re.compile(r"`((?:producers|shared|workers|deploy|tests)/[\w./-]+)`")
_STEP = re.compile(r"^\| \d+ \| `(?P<file>[^`]+)` \| `(?P<function>\w+)` \|", re.M)

PAGE = pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_what_is_read_first_is_short(page: str) -> None:
    assert len((ROOT / page).read_text(encoding="utf-8").splitlines()) <= MAX_LINES


@pytest.mark.parametrize("name", ["settings.md", "commands.md", "http.md", "metrics.md"])
def test_the_reference_has_all_that_the_code_has_and_nothing_else(name: str) -> None:
    """A setting, a command, an option, a route and a metric is in a page, or this fails."""
    written = (REFERENCE / name).read_text(encoding="utf-8")
    assert written == pages()[name], "run `python -m tests.fixtures.reference`, and read its diff"


def test_every_extra_and_every_decision_is_named() -> None:
    extras = tomllib.loads((ROOT / "producers" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install = (DOCS / "how-to" / "install.md").read_text(encoding="utf-8")
    assert [extra for extra in extras["optional-dependencies"] if f"`{extra}`" not in install] == []
    decisions = (DOCS / "why" / "decisions.md").read_text(encoding="utf-8")
    written = {path.name for folder in ("shared", "workers") for path in (ROOT / folder).glob("src/**/adr/*.md")}
    assert [name for name in sorted(written) if name not in decisions] == []


@PAGE
@pytest.mark.parametrize("wrong", [wrong_commands, wrong_settings, wrong_routes, wrong_metrics])
def test_a_page_names_nothing_that_does_not_exist(page: Path, wrong: Callable[[str], Iterator[str]]) -> None:
    assert list(wrong(page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (wrong_commands, "`querymill serch reports`"),
        (wrong_commands, "    .venv/bin/querymill search reports --colection filings\n"),
        (wrong_commands, "```sh\nquerymill keys ad web\n```"),
        (wrong_settings, "`QUERYMILL_LEASE_SECONDS`"),
        (wrong_metrics, "`querymill_jobs_lost_total{kind}`"),
        (wrong_routes, 'curl "$H/v1/job"'),
    ],
)
def test_what_does_not_exist_is_noticed(wrong: Callable[[str], Iterator[str]], text: str) -> None:
    assert list(wrong(text))


def test_each_step_of_the_walks_is_a_function_of_its_file() -> None:
    steps = list(_STEP.finditer(CONTRIBUTING.read_text(encoding="utf-8")))
    assert len(steps) == 24
    wrong = [
        step[0]
        for step in steps
        if not (ROOT / step["file"]).is_file()
        or not re.search(rf"^ *(?:async )?def {step['function']}\(", (ROOT / step["file"]).read_text("utf-8"), re.M)
    ]
    assert wrong == []


@PAGE
def test_each_path_that_a_page_names_exists(page: Path) -> None:
    named = _PATH.findall(page.read_text(encoding="utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_page_stands_in_the_site_once() -> None:
    def entries(node: Any) -> Iterator[str]:
        if isinstance(node, str):
            yield node
        else:
            for child in node.values() if isinstance(node, dict) else node:
                yield from entries(child)

    named = list(entries(tomllib.loads(CONFIGURATION.read_text(encoding="utf-8"))["project"]["nav"]))
    assert sorted(named) == sorted(set(named))
    pages = {str(page.relative_to(ROOT)) for page in DOCS.rglob("*.md")}
    assert pages - set(named) == set()
    assert set(named) <= {str(page.relative_to(ROOT)) for page in reached(ROOT, ROOT / "README.md")}


def test_no_page_of_the_repository_has_a_broken_link() -> None:
    pages = [
        page
        for folder in ("shared", "producers", "workers", "deploy", "tests")
        for page in (ROOT / folder).rglob("*.md")
        if "node_modules" not in page.parts
    ]
    broken = [f"{page}: {link}" for page in pages for link in links(page) if not (page.parent / link).exists()]
    assert len(pages) > 50
    assert broken == []


def test_the_site_is_built_without_a_broken_link_and_asks_no_other_server(tmp_path: Path) -> None:
    build(tmp_path / "site")
    pages = list((tmp_path / "site" / "html").rglob("*.html"))
    assert len(pages) > len(list(DOCS.rglob("*.md")))
    loaded = re.compile(r"<(?:script|img|source)[^>]* src=\"?(https?:)?//|<link[^>]* href=\"?(?:https?:)?//", re.I)
    assert [str(page) for page in pages if loaded.search(page.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ("[gone](docs/gone.md)", r"README.md: docs/gone.md is no file"),
        ("[gone](docs/page.md#gone)", r"anchor does not exist"),
        ("[folder](docs)", r"README.md: docs is no file"),
        ("[outside](../../etc/hostname)", r"is no file of the repository"),
    ],
)
def test_a_broken_link_is_refused(tmp_path: Path, link: str, reason: str) -> None:
    root = tmp_path / "repository"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "page.md").write_text("# A page\n")
    (root / "README.md").write_text(f"# Home\n\n[page](docs/page.md#a-page)\n{link}\n")
    with pytest.raises(BrokenLinks, match=reason):
        build(tmp_path / "site", root=root)
