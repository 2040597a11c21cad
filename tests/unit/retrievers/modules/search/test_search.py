import pytest

from querymill_shared.board import Claim, Outcome
from querymill_shared.contracts.events import Done, Hits
from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.notes import FailureNotes
from querymill_workers.retrievers.modules.flow import flow_of
from tests.fixtures.world import World, example

CONE = example(0, "vtk.Filters.Sources.vtkConeSource", "vtkActor", "vtkMapper", description="A red cone", code="cone()")
IMAGE = example(1, "vtkImageMapper", "vtkImageSlice", description="One slice of a scan", code="slice()")
PLANE = example("plane.js", "vtkPlane", "vtkActor", description="Cut by a plane", code="cut()")


def search(query: str = "vtkConeSource with vtkActor", **fields: object) -> ModuleSearch:
    return ModuleSearch.model_validate({"query": query, "collection": "code", "channels": ["modules"]} | fields)


def found(world: World, job_id: str) -> ModuleResult:
    result = world.result(job_id)
    assert isinstance(result, ModuleResult)
    return result


def ask(world: World, query: str = "vtkConeSource with vtkActor", **fields: object) -> ModuleResult:
    return found(world, world.run(search(query, **fields)))


def documents(result: ModuleResult) -> list[int | str]:
    return [hit.document for hit in result.results]


def test_a_request_finds_the_code_that_uses_its_modules(world: World) -> None:
    world.ingest_code(CONE, IMAGE, PLANE)
    result = ask(world)
    assert documents(result) == [0, "plane.js"]
    assert [hit.score for hit in result.results] == [2.0, 1.0]
    assert (result.results[0].code, result.results[0].matched_keywords) == ("cone()", ("vtkConeSource", "vtkActor"))
    assert result.complete
    assert result.total == 2


def test_the_worked_example_end_to_end(world: World) -> None:
    """Weights 10 and 3; 2 hits and 1 hit → 1.538 + 0.231 = 1.769."""
    world.ingest_code(CONE, PLANE)
    parts = [{"description": "vtkActor and vtkMapper", "weight": 10}, {"description": "vtkConeSource", "weight": 3}]
    hit = ask(world, "a cone", sub_queries=parts).results[0]
    assert round(hit.score, 3) == 1.769
    assert [round(part["normalized_weight"], 3) for part in hit.match_explanation] == [0.769, 0.231]
    assert [part["hits"] for part in hit.match_explanation] == [2, 1]
    assert hit.rerank_score == hit.score


def test_the_explanation_says_which_rule_produced_each_module(world: World) -> None:
    world.ingest_code(CONE)
    hit = ask(world, "a cone source, vtk.Rendering.Core.vtkMapper and the actor").results[0]
    modules = {module["module"]: (module["rule"], module["text"]) for module in hit.match_explanation[0]["modules"]}
    assert modules == {
        "ConeSource": ("words", "cone source"),
        "vtkMapper": ("path", "vtk.Rendering.Core.vtkMapper"),
        "actor": ("shorthand", "actor"),
    }


def test_no_modules_no_documents(world: World) -> None:
    world.ingest_code(CONE)
    result = ask(world, "something else entirely", lexicon=False)
    assert (documents(result), result.total, result.complete) == ([], 0, True)


@pytest.mark.parametrize(("match", "expected"), [("suffix", [0, 1]), ("exact", [0])])
def test_suffixes_count_when_they_are_asked_for(world: World, match: str, expected: list[int]) -> None:
    world.ingest_code(CONE, IMAGE)
    assert documents(ask(world, "vtkMapper", match=match)) == expected


def test_words_and_modules_are_joined_by_rank_and_each_hit_says_which_channel_found_it(world: World) -> None:
    world.ingest_code(CONE, IMAGE, PLANE)
    result = ask(world, "vtkActor on a slice of a scan", channels=["modules", "text"])
    channels = {hit.document: set(hit.channels) for hit in result.results}
    assert channels[1] == {"text"}
    assert channels["plane.js"] == {"modules", "text"}
    for hit in result.results:
        weights = hit.explanation["weights"]
        again = sum(weights[name] / (hit.explanation["k"] + place["rank"]) for name, place in hit.channels.items())
        assert hit.score == pytest.approx(again, abs=1e-6)


def test_words_that_are_away_leave_the_modules_and_are_named(world: World) -> None:
    world.ingest_code(CONE)
    world.words.fails_with = Unavailable("words: PostgreSQL: PoolTimeout")
    result = ask(world, channels=["modules", "text"])
    assert [(hit.document, hit.score) for hit in result.results] == [(0, 2.0)]
    assert not result.complete
    assert [(part.stage, part.reason) for part in result.degraded] == [("text", "words: PostgreSQL: PoolTimeout")]


def test_words_that_are_away_fail_a_search_of_words_alone(world: World) -> None:
    world.ingest_code(CONE)
    world.words.fails_with = Unavailable("words: away")
    job_id = world.run(search(channels=["text"], deadline=0.2))
    assert world.board.picture(job_id).record.reason.endswith("words: away")


def test_the_head_of_the_list_does_not_depend_on_where_it_is_cut(world: World) -> None:
    world.ingest_code(*(example(n, "vtkActor", *(["vtkMapper"] if n % 3 else [])) for n in range(12)))
    whole = documents(ask(world, "vtkActor vtkMapper", top_k=12))
    assert documents(ask(world, "vtkActor vtkMapper", top_k=4)) == whole[:4]


def test_the_histories_tell_recall_and_ranking_apart(world: World) -> None:
    world.ingest_code(CONE, IMAGE, PLANE)
    result = ask(world, "x", sub_queries=["vtkActor", {"description": "vtkPlane", "weight": 1}, "nothing"], top_k=1)
    assert [(part.description, part.total, part.documents) for part in result.raw_history] == [
        ("vtkActor", 2, (0, "plane.js")),
        ("vtkPlane", 1, ("plane.js",)),
        ("nothing", 0, ()),
    ]
    assert [(row.rank, row.document) for row in result.reranked_history] == [(1, "plane.js"), (2, 0)]
    assert len(result.results) == 1


def test_the_prompt_is_ready_for_a_model_and_within_its_budget(world: World) -> None:
    world.ingest_code(CONE, PLANE)
    result = ask(world)
    assert result.prompt.startswith("# Request\nvtkConeSource with vtkActor\n")
    assert "cone()" in result.prompt
    assert "Matched: vtkConeSource, vtkActor" in result.prompt
    assert ask(world, prompt_tokens=0).prompt == ""
    assert len(ask(world, prompt_tokens=20).prompt.split()) <= 20


def test_a_chat_model_may_split_the_request_into_weighted_parts(world: World) -> None:
    world.ingest_code(CONE, PLANE)
    world.rewriter.replies = {"parts": "<9: a vtkPlane> <1: the actor>"}
    job_id = world.run(search("cut it", split=True))
    result = found(world, job_id)
    assert result.searched_by == "split"
    assert [(part.description, part.weight) for part in result.raw_history] == [("a vtkPlane", 9.0), ("the actor", 1.0)]
    assert documents(result) == ["plane.js", 0]
    assert result.usage == {"provider_calls": 1, "tokens": 10}


@pytest.mark.parametrize("replies", [{}, {"parts": "I cannot"}])
def test_a_split_that_fails_leaves_the_request_as_it_stands(world: World, replies: dict[str, str]) -> None:
    world.ingest_code(CONE)
    world.rewriter.replies = dict(replies)
    result = ask(world, split=True)
    assert result.searched_by == "original"
    assert documents(result) == [0]
    assert [part.stage for part in result.degraded] == ["split"]


def claimed(world: World, job_id: str, branch: str) -> Claim:
    claim = world.board.claim(job_id, branch)
    assert claim is not None
    return claim


def give_up(world: World, job_id: str, branch: str, *, dead: bool) -> None:
    """Close a branch as the sweeper does when its workers failed or kept dying."""
    failed = Outcome(state="failed", reason="its workers died", notes=FailureNotes(dead=dead).for_board())
    world.board.finish(claimed(world, job_id, branch), failed)


def test_at_the_deadline_the_request_itself_answers_and_the_split_is_named_as_missing(world: World) -> None:
    world.ingest_code(CONE)
    request = search(split=True)
    job_id = world.submit(request)
    world.ring(job_id, request, "original")
    flow_of(request).settle(world.board.picture(job_id), world.ports)
    result = found(world, job_id)
    assert (result.searched_by, documents(result), result.complete) == ("original", [0], False)
    assert [(part.stage, part.reason) for part in result.degraded] == [("split", "cut by the deadline")]


def test_at_the_deadline_a_job_without_a_finished_branch_fails_and_says_which_are_missing(world: World) -> None:
    request = search(split=True)
    job_id = world.submit(request)
    flow_of(request).settle(world.board.picture(job_id), world.ports)
    record = world.board.picture(job_id).record
    assert record.state == "failed"
    assert record.reason.endswith("original: cut by the deadline; split: cut by the deadline")


def test_a_chat_model_is_not_asked_when_only_the_time_for_searching_is_left(world: World) -> None:
    world.ingest_code(CONE)
    world.rewriter.replies = {"parts": "<9: a vtkPlane>"}
    request = search(split=True, deadline=0.15)
    job_id = world.submit(request)
    world.ring(job_id, request, "split")
    (split,) = [step for step in world.board.picture(job_id).steps if step.name == "split"]
    assert (split.state, split.reason) == ("failed", "cut by the deadline before the chat model was asked")


def test_a_split_that_came_through_answers_even_if_the_request_itself_failed(world: World) -> None:
    world.ingest_code(CONE, PLANE)
    world.rewriter.replies = {"parts": "<9: a vtkPlane>"}
    request = search("cut it", split=True)
    job_id = world.submit(request)
    give_up(world, job_id, "original", dead=True)
    world.ring(job_id, request, "split")
    result = found(world, job_id)
    assert (result.searched_by, documents(result)) == ("split", ["plane.js"])
    assert [(part.stage, part.reason) for part in result.degraded] == [("original", "its workers died")]


@pytest.mark.parametrize(("dead", "state"), [(True, "dead"), (False, "failed")])
def test_a_job_whose_branches_all_failed_is_dead_only_if_workers_kept_dying(
    world: World, dead: bool, state: str
) -> None:
    request = search()
    job_id = world.submit(request)
    give_up(world, job_id, "original", dead=dead)
    flow_of(request).settle(world.board.picture(job_id), world.ports)
    record = world.board.picture(job_id).record
    assert (record.state, "original: its workers died" in record.reason) == (state, True)


def test_the_text_channel_alone_ranks_by_text_and_asks_for_no_module(world: World) -> None:
    world.ingest_code(CONE, IMAGE, PLANE)
    result = ask(world, "one slice of a scan", channels=["text"])
    assert documents(result)[0] == 1
    assert all(set(hit.channels) == {"text"} for hit in result.results)
    assert result.results[0].match_explanation == ()
    assert result.results[0].explanation["weights"] == {"text": 1.0}
    assert [(part.total, part.documents) for part in result.raw_history] == [(0, ())]


def test_the_ranking_is_as_long_as_its_candidates_and_cut_to_top_k(world: World) -> None:
    world.ingest_code(*(example(n, "vtkActor") for n in range(9)))
    result = ask(world, "vtkActor", candidates=5, top_k=2)
    assert (documents(result), result.total, len(result.reranked_history)) == ([0, 1], 5, 5)
    assert (result.raw_history[0].total, len(result.raw_history[0].documents)) == (9, 5)


def test_coverage_weighs_hits_by_the_modules_asked_for(world: World) -> None:
    world.ingest_code(CONE)
    hit = ask(world, "vtkActor, vtkMapper, vtkMath and vtkPlane", mode="coverage").results[0]
    assert hit.score == 0.5
    assert hit.explanation["formula"] == "Σ hits / modules asked × normalized_weight"


def test_a_document_shows_its_metadata(world: World) -> None:
    world.ingest_code(CONE | {"package": "p"})
    assert ask(world).results[0].metadata == {"package": "p"}


def test_the_requests_own_hits_are_told_while_the_chat_model_still_splits(world: World) -> None:
    world.ingest_code(CONE)
    request = search(split=True)
    job_id = world.submit(request)
    world.ring(job_id, request, "original")
    last = world.board.events(job_id)[-1][1]
    assert isinstance(last, Hits)
    assert last.hits[0].key == "0"


def test_a_store_that_is_away_fails_the_job_with_its_reason(world: World) -> None:
    class Away:
        def __getattr__(self, name: str) -> object:
            raise Unavailable("MongoDB: ServerSelectionTimeoutError")

    world.with_ports(modules=Away())
    job_id = world.run(search(deadline=0.2))
    record = world.board.picture(job_id).record
    assert record.state == "failed"
    assert "MongoDB" in record.reason


def test_a_store_that_goes_away_before_the_hits_are_shown_fails_the_job_with_its_reason(world: World) -> None:
    world.ingest_code(CONE)

    def gone(*_: object) -> None:
        raise Refused("MongoDB: gone")

    world.modules.documents = gone  # type: ignore[method-assign, assignment]
    world.modules.describe = lambda *_: []  # type: ignore[method-assign]
    job_id = world.run(search())
    assert world.board.picture(job_id).record.reason == "MongoDB: gone"


def test_no_collection_sees_anothers_documents(world: World) -> None:
    world.ingest_code(CONE)
    world.ingest_code(example(7, "vtkConeSource", description="secret cone"), collection="other")
    assert documents(ask(world, "vtkConeSource, a cone", channels=["modules", "text"])) == [0]


def test_the_last_event_says_that_it_is_done(world: World) -> None:
    world.ingest_code(CONE)
    job_id = world.run(search())
    assert world.board.events(job_id)[-1][1] == Done(complete=True)


def test_a_filter_chooses_the_documents_before_anything_is_cut(world: World) -> None:
    red = [example(n, "vtkConeSource", description="a cone") | {"team": "red"} for n in range(60)]
    blue = example(99, "vtkConeSource", "vtkActor", description=f"a cone {'and more ' * 50}") | {"team": "blue"}
    world.ingest_code(*red, blue)
    for channels in (["modules"], ["text"], ["modules", "text"]):
        asked = {"query": "vtkConeSource: a cone", "collection": "code", "channels": channels, "candidates": 6}
        result = world.result(world.run(ModuleSearch.model_validate(asked | {"filter": {"team": "blue"}})))
        assert isinstance(result, ModuleResult)
        assert [hit.document for hit in result.results] == [99]
        assert result.results[0].metadata == {"team": "blue"}
        nothing = world.result(world.run(ModuleSearch.model_validate(asked | {"filter": {"module": "vtkPlane"}})))
        assert isinstance(nothing, ModuleResult)
        assert nothing.results == ()


def test_a_class_that_no_document_uses_is_said_and_is_no_hit_by_a_part_of_its_name(world: World) -> None:
    world.ingest_code(example(0, "vtkActor", description="foo bar baz"), example(1, "vtkPlane", description="a plane"))
    result = world.result(world.run(search("vtkFooBarBaz")))
    assert isinstance(result, ModuleResult)
    assert (result.results, result.unknown_modules) == ((), ("vtkFooBarBaz",))
    result = world.result(world.run(search("vtkFooBarBaz with vtkPlane")))
    assert isinstance(result, ModuleResult)
    assert [hit.document for hit in result.results] == [1]
    assert result.unknown_modules == ("vtkFooBarBaz",)
    assert world.result(world.run(search("vtkPlane"))).model_dump()["unknown_modules"] == ()


def test_plain_words_in_weighted_parts_count_by_their_weights(world: World) -> None:
    world.ingest_code(example(0, "vtkA", description="a cone"), example(1, "vtkB", description="the background"))
    for weights, order in (((10, 3), [0, 1]), ((3, 10), [1, 0])):
        parts = [
            {"description": text, "weight": weight}
            for text, weight in zip(("cone", "background"), weights, strict=True)
        ]
        result = world.result(world.run(search("an example", sub_queries=parts, channels=("modules", "text"))))
        assert isinstance(result, ModuleResult)
        assert [hit.document for hit in result.results] == order
        assert set(result.results[0].channels) <= {"modules", "text:1", "text:2"}


def test_a_document_is_found_by_its_folder(world: World) -> None:
    world.ingest_code(example("Samples/Compass/index.js", "vtkA"), example("Samples/Other/index.js", "vtkB"))
    result = world.result(world.run(search("compass", channels=("text",))))
    assert isinstance(result, ModuleResult)
    assert [hit.document for hit in result.results] == ["Samples/Compass/index.js"]
