"""A question that refers back, asked of each retriever in memory; and one that stands alone, which is left as it is."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.conversations.search import ConversationSearch
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.history import FoundInChat, HistoryUse
from querymill_shared.contracts.kinds import KindSearch
from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.contracts.reports.search import ReportResult, ReportSearch
from tests.fixtures.chats import session
from tests.fixtures.code_base import put
from tests.fixtures.world import World, example, report

TALKS = {
    "ships": ("which tugboats do we paint?", "the old ones in spring"),
    "soup": ("which soup is cold?", "gazpacho"),
}


@pytest.fixture
def mill(world: World) -> World:
    """A world in which each kind has something about tugboats, and more about soup and spring."""
    world.ingest(
        report("a1", "tugboats are painted in spring", "the crew eats soup", company="Nordhav"),
        report("b2", "soup is cooked in spring", "spring in the kitchen is cold", company="Borough"),
    )
    world.ingest_code(
        example(0, "vtkTugboatSource", description="tugboats, painted"),
        example(1, "vtkSoup", description="soup in spring"),
    )
    put(world, {"tugboats.py": "def paint_tugboats(): ...\n", "soup.py": "def cook_soup(season): ...\n"}, "base")
    for id_, texts in TALKS.items():
        world.run(IngestMessages(collection="chats", documents=(session(id_, *texts),)))
        world.run(IngestConversations(collection="talks", documents=(session(id_, *texts),)))
    return world


SEARCHES: Mapping[str, tuple[type[Any], str]] = {
    "reports": (ReportSearch, "filings"),
    "messages": (MessageSearch, "chats"),
    "conversations": (ConversationSearch, "talks"),
    "modules": (ModuleSearch, "code"),
    "files": (FileSearch, "base"),
}
EVERY = pytest.mark.parametrize("kind", SEARCHES)


def asked(kind: str, query: str, *turns: str) -> KindSearch:
    search, collection = SEARCHES[kind]
    history = [{"role": ("user", "assistant")[place % 2], "text": text} for place, text in enumerate(turns)]
    now = {"now": "2026-06-30T12:00:00Z"} if kind == "conversations" else {}
    made: KindSearch = search.model_validate({"query": query, "collection": collection, "history": history} | now)
    return made


def found(world: World, request: KindSearch) -> FoundInChat:
    result = world.result(world.run(request))
    assert isinstance(result, FoundInChat)
    return result


@EVERY
def test_what_a_question_refers_back_to_is_searched_with_it(mill: World, kind: str) -> None:
    result = found(mill, asked(kind, "when are they painted?", "which tugboats are there?", "Nine."))
    assert "tugboat" in str(result.model_dump()["results"][0]).lower()
    assert result.expansion_texts["history"][0] == "which tugboats are there?"
    assert result.history is not None
    assert (result.history.refers, result.history.left_out) == ("reference", 0)
    assert len(result.history.weights) == len(result.expansion_texts["history"])


@EVERY
def test_a_question_that_stands_alone_is_searched_as_if_there_were_no_chat(mill: World, kind: str) -> None:
    question = "which soup do the people in the kitchen cook in spring?"
    alone = found(mill, asked(kind, question)).model_dump(exclude={"job_id", "timing", "stages", "history"})
    late = found(mill, asked(kind, question, "which tugboats are there?", "Nine."))
    assert late.model_dump(exclude={"job_id", "timing", "stages", "history"}) == alone
    assert late.history == HistoryUse(refers="no")


def test_the_company_and_the_period_of_the_turn_before_choose_the_reports(world: World) -> None:
    world.ingest(
        *(
            report(f"n{year}", "the revenue of the fleet rose", company="Nordhav", period=str(year))
            for year in (2020, 2021)
        ),
        *(
            report(f"b{year}", "soup brought more revenue", company="Borough", period=str(year))
            for year in (2020, 2021)
        ),
    )
    first = "what was the revenue of Nordhav in 2020?"
    result = world.result(world.run(asked("reports", "and in 2021?", first, "Nine.")))
    assert {hit["document"] for hit in result.model_dump()["results"]} == {"n2021"}
    assert "named before the question" in result.model_dump()["routing"]["reason"]
    result = world.result(world.run(asked("reports", "how does it compare with Borough?", first, "Nine.")))
    assert {hit["document"] for hit in result.model_dump()["results"]} == {"n2020", "b2020"}


def test_words_beside_a_question_show_what_they_count_in_the_score_of_a_hit(mill: World) -> None:
    result = found(mill, asked("conversations", "when are they painted?", "which tugboats are there?", "Nine."))
    terms = result.model_dump()["results"][0]["explanation"]["bm25"]["terms"]
    assert {term["term"]: term["times"] for term in terms} == {"paint": 1, "tugboat": 0.5}


@pytest.fixture
def ask(world: World) -> Callable[..., ReportResult]:
    """Asks a question after two turns about tugboats."""
    world.ingest(report("a1", "tugboats are painted in spring"), report("b2", "soup is cold", company="Borough"))
    history = [{"role": "user", "text": "which tugboats are there?"}, {"role": "assistant", "text": "Nine."}]

    def asking(query: str, **fields: Any) -> ReportResult:
        asked = {"query": query, "collection": "filings", "history": history} | fields
        result = world.result(world.run(ReportSearch.model_validate(asked)))
        assert isinstance(result, ReportResult)
        return result

    return asking


def test_a_chat_model_writes_the_question_anew_in_a_branch_of_its_own(
    world: World, ask: Callable[..., ReportResult]
) -> None:
    world.rewriter.replies = {"standalone": "<when are the tugboats painted?>"}
    result = ask("when are they painted?")
    assert result.expansion_texts["standalone"] == ("when are the tugboats painted?",)
    assert world.rewriter.said == [["which tugboats are there?", "Nine."]]
    assert (result.results[0].document, result.complete) == ("a1", True)
    # What says nothing new is not searched, and a question that stands alone is not shown to the model.
    world.rewriter.replies = {"standalone": "<When are they painted?>"}
    assert "standalone" not in ask("when are they painted?").expansion_texts
    assert "standalone" not in ask("which soup do the people in the kitchen cook?").expansion_texts
    assert len(world.rewriter.said) == 2
    # Without a reply, the question as it stands answers, and the result says what it lacks.
    world.rewriter.replies = {}
    result = ask("how old are they?")
    assert [part.stage for part in result.degraded] == ["standalone"]
    assert result.results
    assert ask("how old are they?", history=[]).complete


def test_a_chat_model_that_is_too_small_to_answer_writes_no_question_unless_it_is_asked_to(
    world: World, ask: Callable[..., ReportResult]
) -> None:
    world.rewriter.replies = {"standalone": "<when are the tugboats painted?>"}
    world.answers.writes = False
    result = ask("when are they painted?")
    assert ("standalone" in result.expansion_texts, result.complete) == (False, True)
    assert "standalone" in ask("when are they painted?", standalone=True).expansion_texts
    world.answers.writes = True
    assert "standalone" not in ask("when are they painted?", standalone=False).expansion_texts


def test_nobody_waits_long_for_a_question_written_anew_unless_asked_to(
    world: World, ask: Callable[..., ReportResult]
) -> None:
    world.rewriter.replies = {"standalone": "<when are the tugboats painted?>"}
    for standalone in (None, True):
        ask("when are they painted?", standalone=standalone)
    by_default, asked_for = (caller.expires_at for _, _, caller in world.rewriter.asked)
    assert by_default is not None
    assert asked_for is not None
    assert asked_for - by_default > 20, "the deadline of a search is 30 s"
    assert by_default <= world.ports.clock() + 3
