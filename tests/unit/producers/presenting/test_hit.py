"""A hit is described once for each kind: every screen, agent and library formats the same view."""

import json

import pytest

from querymill import kinds
from querymill.presenting.hit import views_of, written_in
from querymill_shared.contracts.conversations.search import ConversationResult
from querymill_shared.contracts.files.search import FileResult, LineRange
from querymill_shared.contracts.jobs import decode_result
from querymill_shared.contracts.kinds import KindResult
from querymill_shared.contracts.messages.search import MessageResult
from querymill_shared.contracts.modules.search import ModuleResult
from querymill_shared.contracts.reports.search import ReportResult
from tests.fixtures.wire import GOLDEN

RESULTS = json.loads((GOLDEN / "now" / "results.json").read_text())


def result_of(kind: str, **fields: object) -> KindResult:
    """Return a result whose one hit has these fields, as it is stored."""
    stored = RESULTS[kind]
    hit = stored["results"][0] | fields
    result = decode_result(json.dumps(stored | {"results": [hit], "collection": "c"}))
    assert isinstance(result, ReportResult | MessageResult | ConversationResult | ModuleResult | FileResult)
    return result


@pytest.mark.parametrize("kind", kinds.NAMES)
def test_every_kind_describes_its_hits(kind: str) -> None:
    (view,) = views_of(result_of(kind))
    assert view.place is not None
    assert (view.place.kind, view.place.collection) == (kind, "c")
    assert view.title
    assert view.key
    assert view.shown
    assert view.score == view.hit.score
    assert view.tree(kind).value == view.score


def test_hits_are_shown_from_one_on() -> None:
    stored = RESULTS["reports"]
    many = [stored["results"][0] | {"page": page} for page in range(5)]
    result = decode_result(json.dumps(stored | {"results": many}))
    assert isinstance(result, ReportResult)
    assert [view.hit.page for view in views_of(result, start=1, limit=2)] == [1, 2]
    assert [view.hit.page for view in views_of(result, start=3)] == [3, 4]


def test_a_passage_of_a_report_is_named_by_its_page_and_found_by_steps() -> None:
    fields = {
        "document": "ab",
        "unit": "chunk",
        "number": 7,
        "page": 3,
        "title": "Nordhav",
        "company": "N",
        "period": None,
    }
    why = {"queries": {"sales": 1, "asked": 1}}
    result = result_of("reports", **fields, explanation=why).model_copy(
        update={"query": "asked", "expansion_texts": {"hyde": ("sales",)}}
    )
    (view,) = views_of(result)
    assert (view.title, view.cited, str(view.place)) == ("Nordhav, page 3", "Nordhav, page 3", "reports:c/ab#p3")
    assert (view.key, view.part, view.facts) == ("ab/chunk/7", "#c7", ("N",))
    assert view.found_by == ("hyde", "original")


def test_a_message_without_an_id_is_named_by_its_number() -> None:
    fields = {"session_id": "s", "session_name": "boats", "message_id": None, "message_number": 3, "user_name": "ann"}
    (view,) = views_of(result_of("messages", **fields, message_role="user", created_at="2026-01-01T08:30:00Z"))
    assert (view.title, view.cited) == ("boats", "boats, ann, user, 2026-01-01")
    assert str(view.place) == "messages:c/s#m3"
    assert view.facts[:2] == ("user · ann", "2026-01-01 08:30")


def test_the_passage_of_a_session_is_shown_as_it_is_cut() -> None:
    fields = {"session_id": "s", "name": None, "message_number": None, "last_active": "2026-03-11T00:00:00Z"}
    (view,) = views_of(result_of("conversations", **fields, source="n.jsonl", line=4))
    assert (view.cited, str(view.place), view.is_cut, view.written_in) == (
        "s, 2026-03-11", "conversations:c/s", True, "n.jsonl:4"
    )  # fmt: skip


def test_a_code_document_is_shown_by_its_description_and_read_with_its_code() -> None:
    (view,) = views_of(result_of("modules", description="A cone", code="cone()", modules=list("abcdefghij")))
    assert (view.shown, view.text, view.facts) == ("A cone", "A cone\ncone()", ("a, b, c, d, e, f, g, h and 2 more",))
    (bare,) = views_of(result_of("modules", description="", code="cone()"))
    assert bare.shown == "cone()"


def test_a_file_is_a_place_and_why_it_was_found() -> None:
    lines = [LineRange(first=1, last=4).model_dump(), LineRange(first=9, last=9).model_dump()]
    (view,) = views_of(
        result_of("files", path="a.py", why="defines run", excerpt=lines, band="high", round=1, tokens=1200)
    )
    assert (view.text, view.shown, view.cited) == ("", "defines run", "a.py, lines 1-4")
    assert view.facts == ("high", "round 1", "lines 1–4, 9–9", "1,200 tokens")


@pytest.mark.parametrize(
    ("source", "line", "said"), [(None, 4, ""), ("n.jsonl", None, "n.jsonl"), ("n.jsonl", 4, "n.jsonl:4")]
)
def test_a_place_in_a_file_is_written_as_editors_jump_to_it(source: str | None, line: int | None, said: str) -> None:
    assert written_in(source, line) == said
