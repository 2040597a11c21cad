from querymill_shared.contracts.notes.ingest import IngestNotes, Note
from querymill_shared.contracts.notes.search import NoteResult, NoteSearch
from tests.fixtures.world import World


def test_a_note_is_found_by_its_words_and_explains_its_score(world: World) -> None:
    for note_id, text in (("a", "the kettle is in the pantry"), ("b", "the ladder is in the shed")):
        world.run(IngestNotes(collection="home", documents=(Note(note_id=note_id, text=text),)))
    result = world.result(world.run(NoteSearch(query="where is the ladder", collection="home")))
    assert isinstance(result, NoteResult)
    assert result.results[0].note_id == "b"
    assert result.results[0].explanation["terms"]


def test_a_note_replaces_the_one_with_its_id(world: World) -> None:
    for text in ("the ladder is in the shed", "the ladder is lent to Ann"):
        world.run(IngestNotes(collection="home", documents=(Note(note_id="a", text=text),)))
    result = world.result(world.run(NoteSearch(query="ladder", collection="home")))
    assert isinstance(result, NoteResult)
    assert [hit.text for hit in result.results] == ["the ladder is lent to Ann"]
