from querymill_shared.contracts.modules.ingest import IngestModules, IngestModulesResult, ModuleDocument
from querymill_shared.contracts.modules.learn import LearnLexicon, LexiconResult
from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch
from querymill_workers.jobs.faults import CallFailed, Unavailable
from querymill_workers.retrievers.modules.entry import entry_of
from querymill_workers.retrievers.modules.ingest import revision_of
from tests.fixtures.world import World, example

CONES = [example(n, "vtkConeSource", "vtkActor", description=f"A cone number {n}") for n in range(4)]


def ingest_of(document: dict[str, object]) -> IngestModules:
    return IngestModules(collection="code", documents=(ModuleDocument.model_validate(document),))


def outcome(world: World, job_id: str) -> str:
    result = world.result(job_id)
    assert isinstance(result, IngestModulesResult)
    return result.documents[0].outcome


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

    def away(*_: object, **__: object) -> None:
        raise Unavailable("MongoDB: AutoReconnect")

    world.modules.put = away  # type: ignore[method-assign]
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
    (document,), revision = request.documents, revision_of(request.documents[0], world.ports)
    world.modules.put("code", [(document, revision)], record="of the first attempt")
    world.modules.settle("code", [0])
    world.ports.documents["modules"].put("code", [(entry_of(document), revision)])
    assert outcome(world, world.run(request)) == "unchanged"
    assert world.board.collections("modules") == {"code"}
    assert len(learnings(world)) == 1


def test_the_same_document_again_asks_for_nothing_where_the_lexicon_knows_it(world: World) -> None:
    world.ingest_code(CONES[0])
    learn(world)
    before = learnings(world)
    world.ingest_code(CONES[0])
    assert learnings(world) == before


def test_an_ingestion_that_keeps_failing_ends_with_its_reason(world: World) -> None:
    request = ingest_of(CONES[0])
    job_id = world.submit(request)
    world.words.fails_with = CallFailed("words: PostgreSQL: QueryCanceled")
    for _ in range(3):
        world.ring(job_id, request, "ingest")
    assert world.board.picture(job_id).record.reason == "words: PostgreSQL: QueryCanceled"
    assert world.ports.documents["modules"].count("code", {}) == 0


def test_learning_puts_right_what_a_writer_that_died_has_left(world: World) -> None:
    request = ingest_of(CONES[0])
    world.ingest_code(CONES[1])
    world.modules.put(
        "code", [(request.documents[0], revision_of(request.documents[0], world.ports))], record="of a writer that died"
    )
    learn(world)
    assert world.modules.unsettled("code") == []
