"""What a chat model writes beside a question: a branch of the job for each text, whatever the kind of document."""

from collections.abc import Iterator
from typing import Any

import pytest

from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.events import Hits
from querymill_shared.contracts.expansion import ExpandsInBranches
from querymill_shared.contracts.history import Turn
from querymill_shared.contracts.kinds import SEARCHES, limit_of
from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_workers.dispatch import expanding, run_step
from querymill_workers.dispatch.expanding.show import IDS
from querymill_workers.dispatch.sweeper import sweep
from querymill_workers.jobs.bell import Bell
from tests.fixtures.chats import session
from tests.fixtures.code_base import PROFILES, put
from tests.fixtures.people import ingestion
from tests.fixtures.world import World, example

KINDS = [kind for kind, search in SEARCHES.items() if issubclass(search, ExpandsInBranches)]
QUESTION = "which line stays open"
#: Has one word of the question, and those of what is looked for.
WRITTEN = "keepalive interval of an idle connection: the line"
FOUND, NEAR = "keepalive interval of every idle connection", "the line at the desk stays open"


@pytest.fixture
def full(world: World) -> World:
    """A world in which, of each kind, one document has the words of the question, and another is what it means."""
    talks = (session("near", NEAR, "so it does"), session("meant", FOUND, "thirty seconds"))
    world.run(IngestMessages(collection="c", documents=talks))
    world.run(IngestConversations(collection="c", documents=talks))
    world.ingest_code(
        example("near.js", "vtkActor", description=NEAR), example("meant.js", "vtkMapper", description=FOUND),
        collection="c",
    )  # fmt: skip
    put(
        world,
        {"near.py": f"# {NEAR}\ndef near():\n    pass\n", "meant.py": f"# {FOUND}\ndef meant():\n    pass\n"},
        "c",
    )
    world.with_ports(file_profiles=PROFILES)
    return world


def asked(kind: str, **fields: Any) -> Any:
    return SEARCHES[kind].model_validate({"query": QUESTION, "collection": "c", "deadline": 30} | fields)


def answered(world: World, kind: str, **fields: Any) -> Any:
    return world.result(world.run(asked(kind, **fields)))


def ids(result: Any) -> list[str]:
    return [str(getattr(hit, IDS[result.kind])) for hit in result.results]


def meant(result: Any) -> Iterator[Any]:
    """Return the hits that are what the question means."""
    for hit in result.results:
        if "meant" in str(getattr(hit, IDS[result.kind])) or getattr(hit, "session_id", "") == "meant":
            yield hit


@pytest.mark.parametrize("kind", KINDS)
def test_a_hypothetical_hit_finds_what_the_question_does_not(full: World, kind: str) -> None:
    full.rewriter.replies[f"hyde-{kind}"] = WRITTEN
    result = answered(full, kind, hyde=True)
    assert result.complete, result.degraded
    assert result.expansion_texts == {"hyde": (WRITTEN,)}
    (first, *_) = meant(result)
    why = first.explanation["expanded"]
    assert "hyde/1" in why["ranks"]
    weights, ranks = why["weights"], why["ranks"]
    assert first.score == pytest.approx(
        sum(weights[name] / (why["k"] + rank) for name, rank in ranks.items()), abs=1e-5
    )
    assert (weights.get("original", 1.0), weights["hyde/1"]) == (1.0, 0.6)
    assert [stage.name for stage in result.stages][:2] == [f"original/{first_step(kind)}", "hyde"]


def first_step(kind: str) -> str:
    return asked(kind).steps[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_reply_the_question_is_answered_as_it_stands_and_the_gap_is_named(full: World, kind: str) -> None:
    alone, result = answered(full, kind), answered(full, kind, hyde=True)
    assert ids(result) == ids(alone)
    assert [hit.score for hit in result.results] == [hit.score for hit in alone.results]
    assert [(part.stage, part.reason) for part in result.degraded] == [("hyde", "chat model: no answer in time")]
    assert result.expansion_texts == {}


def test_the_model_has_as_long_as_the_search_gives_it(full: World) -> None:
    full.rewriter.replies |= {"hyde-messages": WRITTEN, "standalone": "<keepalive of the line>"}
    full.answers.writes = True
    turns = (Turn(role="user", text="which line stays open?"), Turn(role="assistant", text="which ones?"))
    for within, expected_s in ((None, 30.0), (1.5, 1.5)):
        begun = full.ports.clock()
        answered(full, "messages", hyde=True, expand_within=within)
        assert full.rewriter.asked[-1][2].expires_at == pytest.approx(begun + expected_s, abs=1)
    answered(full, "messages", query="and that?", history=turns, expand_within=9)
    assert full.rewriter.asked[-1][2].expires_at == pytest.approx(full.ports.clock() + 9, abs=1)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_off_the_subject_is_not_searched(full: World, kind: str) -> None:
    full.rewriter.replies[f"hyde-{kind}"] = "tomato soup sells well"
    result = answered(full, kind, hyde=True)
    assert ids(result) == ids(answered(full, kind))
    assert [(part.stage, part.code) for part in result.degraded] == [("hyde", "provider_refused")]
    assert "no word of the question" in result.degraded[0].reason


@pytest.mark.parametrize("kind", KINDS)
def test_a_question_late_in_a_chat_is_also_asked_as_it_was_meant(full: World, kind: str) -> None:
    turns = (Turn(role="user", text="tell me of timeouts"), Turn(role="assistant", text="which ones?"))
    full.answers.writes = True
    full.rewriter.replies["standalone"] = "<keepalive interval of an idle connection>"
    result = answered(full, kind, query="and that?", history=turns)
    assert result.expansion_texts["standalone"] == ("keepalive interval of an idle connection",)
    assert list(meant(result))


@pytest.mark.parametrize("kind", KINDS)
def test_where_no_model_writes_answers_none_is_asked_by_default(full: World, kind: str) -> None:
    full.answers.writes = False
    result = answered(full, kind, query="and that?", history=(Turn(role="user", text="which line stays open?"),))
    assert (full.rewriter.said, result.complete, "standalone" in result.expansion_texts) == ([], True, False)


@pytest.mark.parametrize("kind", KINDS)
def test_each_rewritten_question_is_a_branch_and_none_is_searched_twice(full: World, kind: str) -> None:
    replies = "<keepalive interval of the line> <idle connection of the line>"
    full.rewriter.replies |= {"variant-any": replies, "subquestion-any": replies}
    result = answered(full, kind, multi_query=("variant", "subquestion"))
    texts = [text for texts in result.expansion_texts.values() for text in texts]
    assert sorted(texts) == ["idle connection of the line", "keepalive interval of the line"]
    assert {stage.name.split("/")[0] for stage in result.stages} == {"original", "variant", "subquestion"}


def test_a_worker_that_dies_once_the_text_is_written_leaves_its_branch_to_others(full: World) -> None:
    full.rewriter.replies["hyde-messages"] = WRITTEN
    request = asked("messages", hyde=True)
    job_id = full.submit(request)
    full.answer(Bell(job_id, "original/search", request.queue_of("original/search")))
    (claim,) = run_step.claim_steps(Bell(job_id, "hyde", request.queue_of("hyde")), full.ports, limit=1).held
    expanding.write(claim, request, full.ports)
    assert full.board.result(job_id) is None
    full.let_pass(5)
    full.answer(*sweep(full.ports))
    result: Any = full.result(job_id)
    assert result.expansion_texts == {"hyde": (WRITTEN,)}


def test_at_the_deadline_there_is_what_the_question_itself_has_found(full: World) -> None:
    request = asked("conversations", hyde=True)
    job_id = full.submit(request)
    full.ring(job_id, request, "original/search")
    told = [event for _, event in full.board.events(job_id) if isinstance(event, Hits)]
    assert told, "readers see what the question found while the chat model writes"
    full.let_pass(31)
    sweep(full.ports)
    result = full.result(job_id)
    assert ids(result) == ids(answered(full, "conversations"))
    assert [(part.stage, part.code) for part in result.degraded] == [("hyde", "deadline")]


def test_the_prompt_and_the_context_hold_what_was_found_by_what_was_written(full: World) -> None:
    full.rewriter.replies |= {"hyde-modules": WRITTEN, "hyde-files": WRITTEN}
    assert "meant.js" in answered(full, "modules", hyde=True).prompt
    code = answered(full, "files", hyde=True)
    assert "def meant" in code.context
    assert "meant.py" in code.context_files


def test_what_belongs_to_the_words_of_the_question_is_left_to_the_original(full: World) -> None:
    """Parts that were given would be searched again, and not what was written."""
    full.rewriter.replies["hyde-modules"] = WRITTEN
    result = answered(full, "modules", sub_queries=("which line stays open",), hyde=True)
    (first, *_) = meant(result)
    assert first.explanation["expanded"]["ranks"]["hyde/1"] == 1
    asked_with_split = answered(full, "modules", split=True, hyde=True)
    assert [method for method, *_ in full.rewriter.asked].count("parts") == 1
    assert [part.stage for part in asked_with_split.degraded] == ["split"]


def test_a_written_text_finds_nothing_from_outside_the_time_of_the_question(full: World) -> None:
    full.rewriter.replies["hyde-conversations"] = WRITTEN + ", as of 2020"
    first = {"message_id": "m", "role": "user", "text": FOUND, "created_at": "2020-05-05T10:00:00Z"}
    old = {"session_id": "old meant", "started_at": "2020-05-05T10:00:00Z", "messages": [first]}
    full.run(ingestion("conversations", "c", old))
    lasting = [
        session(f"line-{n}", NEAR, "so it does") for n in range(3)
    ]  # enough from then, so that it is not relaxed
    full.run(IngestConversations(collection="c", documents=tuple(lasting)))
    (now,) = {hit.last_active for hit in answered(full, "conversations").results if hit.session_id == "near"}
    timed = answered(full, "conversations", query=f"{QUESTION} in {now:%B %Y}", hyde=True)
    assert "old meant" not in ids(timed)
    assert "old meant" in ids(answered(full, "conversations", hyde=True))


@pytest.mark.parametrize("kind", KINDS)
def test_an_absence_is_explained_by_the_ranking_of_all_branches(full: World, kind: str) -> None:
    full.rewriter.replies[f"hyde-{kind}"] = WRITTEN
    (wanted, *_) = [str(getattr(hit, IDS[kind])) for hit in meant(answered(full, kind, hyde=True))]
    result = answered(full, kind, hyde=True, why_not=wanted)
    assert result.why_not.place == ids(result).index(wanted) + 1
    assert result.why_not.failed is None
    one = answered(full, kind, hyde=True, why_not=wanted, **{limit_of(SEARCHES[kind]): 1})
    assert (one.why_not.place is None) is (wanted not in ids(one))


def test_a_message_that_is_named_by_its_session_is_a_hit_of_all_branches(full: World) -> None:
    full.rewriter.replies["hyde-messages"] = WRITTEN
    (hit, *_) = meant(answered(full, "messages", hyde=True))
    found = answered(full, "messages", hyde=True, why_not=f"{hit.session_id}/{hit.message_id}")
    assert found.why_not.place == ids(found).index(hit.vector_id) + 1


def test_what_a_search_of_code_cost_counts_all_branches(full: World) -> None:
    full.rewriter.replies["hyde-files"] = WRITTEN
    result = answered(full, "files", hyde=True)
    account = result.token_account
    assert account.context == full.ports.count_tokens(result.context)
    assert account.spent == account.context + account.listing + account.judged
