from contextlib import nullcontext

import pytest

from querymill_shared.board import Verdict
from querymill_shared.contracts.modules.learn import LearnLexicon, LexiconResult
from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch
from querymill_workers.retrievers.modules.rules.lexicon import EMPTY
from tests.fixtures.world import World, example

CONES = [example(n, "vtkConeSource", "vtkActor", description=f"A cone number {n}") for n in range(4)]
PLANES = [example(n, "vtkPlane", "vtkActor", description=f"Cut number {n} by a plane") for n in range(4, 12)]


def ask(world: World, query: str, **fields: object) -> ModuleResult:
    asked = {"query": query, "collection": "code", "channels": ["modules"]} | fields
    result = world.result(world.run(ModuleSearch.model_validate(asked)))
    assert isinstance(result, ModuleResult)
    return result


def learn(world: World) -> LexiconResult:
    result = world.result(world.run(LearnLexicon(collection="code")))
    assert isinstance(result, LexiconResult)
    return result


def learnings(world: World) -> list[str]:
    kinds = {job_id: world.board.picture(job_id).record.kind for job_id in world.board.recent(limit=100)}
    return [job_id for job_id, kind in kinds.items() if kind == "learn_lexicon"]


def test_learning_in_the_background_waits_for_more_documents_first(world: World) -> None:
    world.ingest_code(*CONES)
    (job_id,) = learnings(world)
    assert world.modules.vocabulary("code").version == 0
    request = LearnLexicon(collection="code", background=True)
    world.ingest_code(*PLANES)
    world.ring(job_id, request, "learn")
    vocabulary = world.modules.vocabulary("code")
    assert (vocabulary.version, vocabulary.learned_changes) == (1, 12)
    assert len(learnings(world)) == 1


@pytest.mark.parametrize("dies", [False, True])
def test_documents_that_come_in_while_it_learns_are_learned_next(world: World, dies: bool) -> None:
    world.ingest_code(*PLANES)
    honest = world.modules.describe_all

    def more_come_in(collection: str) -> object:
        world.modules.describe_all = honest  # type: ignore[method-assign]
        world.ingest_code(*CONES)
        return honest(collection)[:8]  # type: ignore[index]

    world.modules.describe_all = more_come_in  # type: ignore[method-assign, assignment]
    (first,) = learnings(world)
    settle = world.board.settle

    def settled(job_id: str, verdict: Verdict) -> bool:
        is_first = settle(job_id, verdict)
        if dies and job_id == first:
            raise KeyboardInterrupt
        return is_first

    world.board.settle = settled  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt) if dies else nullcontext():
        world.ring(first, LearnLexicon(collection="code", background=True), "learn")
    assert world.modules.vocabulary("code").version == 1
    assert len(learnings(world)) == 2


def test_a_learning_that_failed_does_not_keep_the_next_from_being_asked_for(world: World) -> None:
    world.ingest_code(CONES[0])
    (job_id,) = learnings(world)
    world.board.settle(job_id, Verdict("dead", reason="MongoDB was away"))
    world.ingest_code(CONES[1])
    assert len(learnings(world)) == 2


def test_plain_words_find_modules_once_they_were_learned(world: World) -> None:
    world.ingest_code(*CONES, *PLANES)
    assert ask(world, "something with a cone").results == ()
    assert learn(world).version == 1
    result = ask(world, "something with a cone")
    assert {hit.document for hit in result.results} == {0, 1, 2, 3}
    assert result.lexicon_version == 1
    (module,) = result.results[0].match_explanation[0]["modules"]
    assert (module["module"], module["rule"], module["text"]) == ("vtkConeSource", "lexicon", "cone")
    assert ask(world, "something with a cone", lexicon=False).results == ()


def test_learning_again_without_changes_keeps_the_lexicon(world: World) -> None:
    world.ingest_code(*CONES, *PLANES)
    first, second = learn(world), learn(world)
    assert (first.version, second.version) == (1, 1)
    assert first.total == second.total > 0


def test_a_collection_without_documents_has_nothing_to_learn_from(world: World) -> None:
    job_id = world.run(LearnLexicon(collection="nothing"))
    assert "no code documents in 'nothing'" in world.board.picture(job_id).record.reason
    assert world.modules.vocabulary("nothing").lexicon == EMPTY
