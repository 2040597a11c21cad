from contextlib import nullcontext

import pytest

from querymill_shared.board import Verdict
from querymill_shared.contracts.modules.ingest import IngestModule, IngestModuleResult, ModuleDocument
from querymill_shared.contracts.modules.learn import LearnLexicon, LexiconResult
from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.retrievers.modules.ingest import revision_of
from querymill_workers.retrievers.modules.rules.lexicon import EMPTY
from tests.fixtures.world import World, example

CONES = [example(n, "vtkConeSource", "vtkActor", description=f"A cone number {n}") for n in range(4)]
PLANES = [example(n, "vtkPlane", "vtkActor", description=f"Cut number {n} by a plane") for n in range(4, 12)]


def ingest_of(document: dict[str, object]) -> IngestModule:
    return IngestModule(collection="code", document=ModuleDocument.model_validate(document))


def outcome(world: World, job_id: str) -> str:
    result = world.result(job_id)
    assert isinstance(result, IngestModuleResult)
    return result.outcome


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
    kinds = {job_id: world.board.picture(job_id).record.kind for job_id in world.board.recent(most=100)}
    return [job_id for job_id, kind in kinds.items() if kind == "learn_lexicon"]


def test_the_same_content_again_changes_nothing(world: World) -> None:
    (first,) = world.ingest_code(CONES[0])
    (again,) = world.ingest_code(CONES[0])
    assert (outcome(world, first), outcome(world, again)) == ("ingested", "unchanged")
    assert world.modules.vocabulary("code").changes == 1


def test_changed_content_is_ingested_again_under_the_same_id(world: World) -> None:
    world.ingest_code(CONES[0])
    (again,) = world.ingest_code(example(0, "vtkPlane"))
    assert outcome(world, again) == "ingested"
    assert ask(world, "vtkConeSource").results == ()
    assert ask(world, "vtkPlane").results[0].document == 0


def test_a_document_that_was_half_ingested_is_ingested_whole_by_the_next_attempt(world: World) -> None:
    request = ingest_of(CONES[0])
    job_id = world.submit(request)
    honest = world.modules.put

    def away(*_: object) -> None:
        raise Unavailable("MongoDB: AutoReconnect")

    world.modules.put = away  # type: ignore[method-assign, assignment]
    world.ring(job_id, request, "ingest")
    assert not world.board.picture(job_id).record.is_over
    world.modules.put = honest  # type: ignore[method-assign]
    world.ring(job_id, request, "ingest")
    assert outcome(world, job_id) == "ingested"


def test_ingestion_makes_the_collection_known_and_asks_once_for_its_lexicon(world: World) -> None:
    world.ingest_code(*CONES)
    assert world.board.collections("modules") == {"code"}
    assert len(learnings(world)) == 1


def test_an_attempt_after_one_that_was_killed_once_it_had_stored_does_what_follows(world: World) -> None:
    request = ingest_of(CONES[0])
    world.modules.put("code", [(request.document, revision_of(request.document))])
    assert outcome(world, world.run(request)) == "unchanged"
    assert world.board.collections("modules") == {"code"}
    assert len(learnings(world)) == 1


def test_the_same_document_again_asks_for_nothing_where_the_lexicon_knows_it(world: World) -> None:
    world.ingest_code(CONES[0])
    learn(world)
    before = learnings(world)
    world.ingest_code(CONES[0])
    assert learnings(world) == before


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


def test_an_ingestion_that_keeps_failing_ends_with_its_reason(world: World) -> None:
    request = ingest_of(CONES[0])
    job_id = world.submit(request)
    world.words.fails_with = Unavailable("words: PostgreSQL: away")
    for _ in range(3):
        world.ring(job_id, request, "ingest")
    assert world.board.picture(job_id).record.reason == "words: PostgreSQL: away"
    assert world.modules.revision("code", 0) is None
