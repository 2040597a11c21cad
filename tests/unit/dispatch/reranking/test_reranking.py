"""A judge at the end of a search: it orders what was found, whatever the kind of document."""

from collections.abc import Callable
from typing import Any

import pytest

from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.events import Hits
from querymill_shared.contracts.kinds import SEARCHES, limit_of
from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.search import Search, with_branches
from querymill_workers.dispatch import run_step
from querymill_workers.dispatch.expanding.show import IDS
from querymill_workers.dispatch.sweeper import sweep
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import Refused, Unavailable
from tests.fixtures.chats import session
from tests.fixtures.code_base import PROFILES, put
from tests.fixtures.world import World, example, report

KINDS = sorted(IDS)
QUESTION = "which line stays open"
SUBJECTS = ("gate", "door", "shop", "pump")
#: What is meant has the fewest words of the question, so it is found last.
MEANT = "the line of the idle connection"


def text_about(subject: str) -> str:
    return f"the line at the {subject} stays open"


@pytest.fixture
def full(world: World) -> World:
    """A world in which, of each kind, four documents have the words of the question, and a fifth is what it means."""
    talks = (*(session(name, text_about(name), "so it does") for name in SUBJECTS), session("meant", MEANT, "yes"))
    world.run(IngestMessages(collection="c", documents=talks))
    world.run(IngestConversations(collection="c", documents=talks))
    world.ingest_code(
        *(example(f"{name}.js", "vtkActor", description=text_about(name)) for name in SUBJECTS),
        example("meant.js", "vtkMapper", description=MEANT), collection="c",
    )  # fmt: skip
    code = {f"{name}.py": f"# {text_about(name)}\ndef {name}():\n    pass\n" for name in SUBJECTS}
    put(world, code | {"meant.py": f"# {MEANT} stays open\ndef meant():\n    pass\n"}, "c")
    world.with_ports(file_profiles=PROFILES)
    return world


def asked(kind: str, **fields: Any) -> Any:
    return SEARCHES[kind].model_validate({"query": QUESTION, "collection": "c", "deadline": 30} | fields)


def answered(world: World, kind: str, **fields: Any) -> Any:
    return world.result(world.run(asked(kind, **fields)))


def ids(result: Any) -> list[str]:
    return [str(getattr(hit, IDS[result.kind])) for hit in result.results]


def is_meant(hit: Any) -> bool:
    return "meant" in str(getattr(hit, "path", getattr(hit, "document", getattr(hit, "session_id", ""))))


def oracle(text: str) -> float:
    return 1.0 if "idle connection" in text else 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_the_judge_brings_what_is_meant_to_the_top_and_leaves_the_rest_in_its_order(full: World, kind: str) -> None:
    full.judge.rule = oracle
    few = {limit_of(SEARCHES[kind]): 20}
    before, result = answered(full, kind, **few), answered(full, kind, rerank=True, **few)
    assert result.complete, result.degraded
    assert is_meant(result.results[0])
    assert not is_meant(before.results[0])
    rest = [id_ for id_ in ids(before) if id_ != ids(result)[0]]
    assert [id_ for id_ in ids(result) if id_ in rest] == rest
    assert [stage.name for stage in result.stages][-1] == "rerank-01"


@pytest.mark.parametrize("kind", KINDS)
def test_every_score_can_be_computed_again(full: World, kind: str) -> None:
    full.judge.rule = oracle
    result = answered(full, kind, rerank=True, **{limit_of(SEARCHES[kind]): 20})
    whys = [hit.explanation["rerank"] for hit in result.results]
    for hit, why in zip(result.results, whys, strict=True):
        assert (why["formula"], why["relevance"], why["score"]) == ("relevance", hit.score, hit.score)
    before = sorted(whys, key=lambda why: why["rank"])
    assert [why["rank"] for why in before] == list(range(1, len(whys) + 1))
    if kind != "conversations":  # which are ordered by more than their score
        scores = [why["score_before"] for why in before]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("kind", KINDS)
def test_how_many_hits_are_returned_does_not_change_the_first(full: World, kind: str) -> None:
    full.judge.rule = lambda text: 1.0 if "idle" in text else 0.4 if "pump" in text else 0.2
    name = limit_of(SEARCHES[kind])
    all_of_them = ids(answered(full, kind, rerank=True, **{name: 20}))
    assert ids(answered(full, kind, rerank=True, **{name: 1})) == all_of_them[:1]
    assert ids(answered(full, kind, rerank=True, **{name: 3})) == all_of_them[:3]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("when", [True, "auto"])
def test_a_judge_that_fails_leaves_the_order_and_is_named(full: World, kind: str, when: object) -> None:
    full.judge.fails_with = Refused("judge: HTTP 401")
    result = answered(full, kind, rerank=when)
    assert [(part.stage, part.reason) for part in result.degraded] == [("rerank-01", "judge: HTTP 401")]
    full.judge.fails_with, full.judge.rule = None, lambda text: 0.5
    assert ids(result) == ids(answered(full, kind, rerank=True))
    assert "not judged" in result.results[0].explanation["rerank"]["reason"]


@pytest.mark.parametrize("kind", [*KINDS, "reports"])
def test_without_a_judge_auto_is_the_search_as_it_is(full: World, kind: str) -> None:
    full.judge.is_chosen = False
    if kind == "reports":
        full.ingest(report("a1", text_about("gate"), text_about("door")), collection="c")
    now = {"now": "2026-02-01T10:00:00Z"} if kind == "conversations" else {}
    before, result = answered(full, kind, **now), answered(full, kind, rerank="auto", **now)
    assert (result.results, result.degraded, full.judge.asked) == (before.results, before.degraded, [])
    assert [stage.name for stage in result.stages] == [stage.name for stage in before.stages]


@pytest.mark.parametrize("kind", KINDS)
def test_hits_that_the_judge_leaves_out_stay_below_and_say_so(full: World, kind: str) -> None:
    full.judge.rule = lambda text: 0.01 if "pump" in text else None
    result = answered(full, kind, rerank=True)
    first, *others = result.results
    assert first.score == pytest.approx(0.01)
    assert {"relevance" in hit.explanation["rerank"] for hit in others} == {False}
    ranks = [hit.explanation["rerank"]["rank"] for hit in others]
    assert ranks == sorted(ranks)
    assert [(part.stage, part.code) for part in result.degraded] == [("rerank-01", "provider_refused")]


@pytest.mark.parametrize("kind", KINDS)
def test_an_absence_says_where_the_judge_has_put_it(full: World, kind: str) -> None:
    full.judge.rule = lambda text: 0.0 if "gate" in text else 0.5
    name = limit_of(SEARCHES[kind])
    order = answered(full, kind, rerank=True, **{name: 20})
    (gate,) = [place for place, hit in enumerate(order.results, 1) if hit.explanation["rerank"].get("relevance") == 0]
    wanted = ids(order)[gate - 1]
    result = answered(full, kind, rerank=True, why_not=wanted, **{name: 1})
    assert result.why_not.failed.name == "rerank"
    assert "before the judge" in result.why_not.failed.said
    assert (result.why_not.lever.fields, result.why_not.lever.place) == ({name: gate}, gate)
    whole = answered(full, kind, rerank=True, why_not=wanted, **{name: 20})
    assert (whole.why_not.failed, whole.why_not.place) == (None, gate)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_chat_model_wrote_is_joined_first_and_judged_once(full: World, kind: str) -> None:
    full.judge.rule = oracle
    full.rewriter.replies[f"hyde-{kind}"] = "the line of an idle connection"
    result = answered(full, kind, hyde=True, rerank=True)
    assert result.complete, result.degraded
    assert is_meant(result.results[0])
    assert len(full.judge.asked) == 1
    assert "expanded" in result.results[0].explanation
    assert [stage.name for stage in result.stages].count("rerank-01") == 1


def test_what_is_joined_from_the_hits_is_joined_from_those_returned(full: World) -> None:
    full.judge.rule = oracle
    modules = answered(full, "modules", rerank=True, top_k=1)
    assert ("meant.js" in modules.prompt, "gate.js" in modules.prompt) == (True, False)
    code = answered(full, "files", rerank=True, top_n=1)
    assert code.context_files == ("meant.py",)
    assert code.token_account.context == full.ports.count_tokens(code.context)
    account = code.token_account
    assert account.spent == account.context + account.listing + account.judged


def test_the_judge_reads_code(full: World) -> None:
    texts: list[str] = []

    def rule(text: str) -> float:
        texts.append(text)
        return 0.5

    full.judge.rule = rule
    answered(full, "files", rerank=True)
    assert any("def meant" in text for text in texts)


def test_an_order_of_time_is_not_judged(full: World) -> None:
    query = "the most recent session about the line"
    plain = answered(full, "conversations", query=query)
    assert plain.results[0].placed_by != "score"
    result = answered(full, "conversations", query=query, rerank=True)
    assert (ids(result), full.judge.asked) == (ids(plain), [])
    assert [(part.stage, part.code) for part in result.degraded] == [("rerank", "invalid")]
    assert answered(full, "conversations", query=query, rerank="auto").degraded == ()


def test_readers_see_the_candidates_while_the_judge_reads(full: World) -> None:
    request = asked("messages", rerank=True, limit=2)
    job_id = full.submit(request)
    (claim,) = run_step.claim_steps(Bell(job_id, "search", request.queue_of("search")), full.ports, limit=1).held
    bells = run_step.run_claim(claim, full.ports)
    assert [(bell.step, bell.queue) for bell in bells] == [("rerank-01", "rerank")]
    (told,) = [event for _, event in full.board.events(job_id) if isinstance(event, Hits)]
    assert len(told.hits) == 2


def test_at_the_deadline_the_candidates_come_as_they_are(full: World) -> None:
    request = asked("conversations", rerank=True)
    job_id = full.submit(request)
    run_step.run_step(Bell(job_id, "search", request.queue_of("search")), full.ports)
    full.let_pass(31)
    sweep(full.ports)
    result = full.result(job_id)
    assert ids(result) == ids(answered(full, "conversations"))
    assert [(part.stage, part.code) for part in result.degraded] == [("rerank-01", "deadline")]


def test_the_judge_is_waited_for_no_longer_than_its_share(full: World) -> None:
    """The share begins when the candidates are there; a step that comes later asks nobody."""
    answered(full, "messages", rerank=True, deadline=30)
    (_, caller) = full.judge.asked[0]
    assert caller.expires_at is not None
    assert 9.5 < caller.expires_at - full.ports.clock() <= 10.0
    request = asked("messages", rerank=True)
    job_id = full.submit(request)
    (bell,) = run_step.run_step(Bell(job_id, "search", request.queue_of("search")), full.ports)
    full.let_pass(11)
    full.judge.asked.clear()
    full.answer(bell)
    result = full.result(job_id)
    assert (full.judge.asked, [part.code for part in result.degraded]) == ([], ["slow"])


def test_a_judge_that_is_away_is_not_asked_again_beyond_its_share(full: World) -> None:
    full.judge.fails_with = Unavailable("judge: no connection", again_in_s=12)
    result = answered(full, "messages", rerank=True)
    assert [(part.stage, part.reason) for part in result.degraded] == [("rerank-01", "judge: no connection")]


def test_a_worker_that_dies_before_the_judge_leaves_it_to_others(full: World) -> None:
    full.judge.rule = oracle
    request = asked("messages", rerank=True)
    job_id = full.submit(request)
    run_step.run_step(Bell(job_id, "search", request.queue_of("search")), full.ports)  # its bell is lost
    full.let_pass(5)
    full.answer(*sweep(full.ports))
    assert is_meant(full.result(job_id).results[0])  # type: ignore[union-attr]


def over_everything(**fields: Any) -> Search:
    held = {"c": [*KINDS, "reports"]}
    return with_branches(Search.model_validate({"query": QUESTION} | fields), held)


@pytest.mark.parametrize("group", [False, True])
def test_the_ranking_of_everything_is_judged_once_at_its_end(full: World, group: bool) -> None:
    full.judge.rule = oracle
    full.ingest(report("a1", MEANT), collection="c")
    result: Any = full.result(full.run(over_everything(rerank=True, group=group, top_k=5, deadline=30)))
    assert result.complete, result.degraded
    kinds = [hit.kind for hit in result.results]
    assert {hit.kind for hit in result.results if hit.explanation["rerank"]["relevance"]} == {*KINDS, "reports"}
    assert kinds == sorted(kinds, key=kinds.index) or not group
    assert len(kinds) > 5 or not group
    assert all(stage.name.startswith("rerank-") for stage in result.stages[-2:])


OUTSIDE: list[tuple[Callable[[str], float], str]] = [(lambda _: 7.0, "above 1"), (lambda _: float("nan"), "no number")]


@pytest.mark.parametrize(("rule", "what"), OUTSIDE)
def test_relevances_outside_their_range_are_none(full: World, rule: Callable[[str], float], what: str) -> None:
    full.judge.rule = rule
    result = answered(full, "messages", rerank=True)
    assert {"relevance" in hit.explanation["rerank"] for hit in result.results} == {False}, what
    assert [part.code for part in result.degraded] == ["provider_refused"]
