from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from querymill_shared.board import Verdict
from querymill_shared.contracts.embed import EmbedResult, EmbedTexts
from querymill_shared.contracts.events import Progress
from querymill_workers.inference.work import Unacceptable
from querymill_workers.jobs.faults import Refused, Unavailable
from tests.fakes.vectors import DIMENSIONS, vector_of
from tests.fixtures.world import World

TEXTS = {f"t{number}": f"text number {number}" for number in range(70)}


def embed_of(texts: dict[str, str], **fields: object) -> EmbedTexts:
    items = [{"id": text_id, "text": text} for text_id, text in texts.items()]
    return EmbedTexts.model_validate({"collection": "c", "texts": items} | fields)


def outcome(world: World, job_id: str) -> EmbedResult:
    result = world.result(job_id)
    assert isinstance(result, EmbedResult)
    return result


def dies_at_call(world: World, number: int) -> None:
    """Let the embedding call of this number fail, once."""
    honest = world.embeddings.embed
    calls = 0

    def dies(*args: object, **kwargs: object) -> object:
        nonlocal calls
        calls += 1
        if calls == number:
            raise Unavailable("killed")
        return honest(*args, **kwargs)  # type: ignore[arg-type]

    world.embeddings.embed = dies  # type: ignore[method-assign, assignment]


def test_every_text_gets_its_own_vector(world: World) -> None:
    result = outcome(world, world.run(embed_of(TEXTS)))
    assert (result.total, result.model, result.dimensions) == (70, "words", DIMENSIONS)
    assert list(result.vectors) == list(TEXTS)
    for text_id, text in TEXTS.items():
        assert np.array_equal(np.array(result.embedding(text_id), np.float32), vector_of(text))


def test_a_step_tells_how_far_it_is_after_each_slice(world: World) -> None:
    job_id = world.run(embed_of(TEXTS))
    told = [(event.done, event.total) for _, event in world.board.events(job_id) if isinstance(event, Progress)]
    assert told == [(32, 70), (64, 70), (70, 70)]


def test_texts_are_embedded_as_the_side_of_the_search_they_are_on(world: World) -> None:
    world.run(embed_of({"a": "what?"}, input_type="query"))
    world.run(embed_of({"a": "that."}))
    assert world.embeddings.asked == [("what?", "query"), ("that.", "passage")]


def test_a_cancelled_job_stops_after_the_slice_under_way(world: World) -> None:
    request = embed_of(TEXTS)
    job_id = world.submit(request)
    honest = world.embeddings.embed

    def cancels(*args: object, **kwargs: object) -> object:
        world.board.settle(job_id, Verdict("cancelled"))
        return honest(*args, **kwargs)  # type: ignore[arg-type]

    world.embeddings.embed = cancels  # type: ignore[method-assign, assignment]
    world.ring(job_id, request, "embed")
    assert len(world.embeddings.asked) == 32
    assert world.board.picture(job_id).record.state == "cancelled"


def test_a_step_that_died_is_done_by_the_next_attempt(world: World) -> None:
    request = embed_of(TEXTS)
    job_id = world.submit(request)
    dies_at_call(world, 2)
    world.ring(job_id, request, "embed")
    assert world.board.result(job_id) is None
    world.ring(job_id, request, "embed")
    assert len(outcome(world, job_id).vectors) == 70


def test_a_provider_that_refuses_fails_the_job_with_its_reason(world: World) -> None:
    world.embeddings.fails_with = Refused("embedding refused: HTTP 400")
    record = world.board.picture(world.run(embed_of(TEXTS))).record
    assert (record.state, record.reason) == ("failed", "embedding refused: HTTP 400")


def test_into_the_table_rows_are_written_and_no_vector_travels(world: World) -> None:
    result = outcome(world, world.run(embed_of(TEXTS, into="table")))
    assert (result.written, result.unchanged, result.total, result.vectors) == (70, 0, 70, {})
    assert np.array_equal(world.text_vectors.rows["c", "t3", "words"].embedding, vector_of(TEXTS["t3"]))


def test_into_the_result_nothing_is_written(world: World) -> None:
    result = outcome(world, world.run(embed_of(TEXTS)))
    assert (result.written, result.unchanged) == (0, 0)
    assert world.text_vectors.rows == {}


def test_rows_whose_text_is_unchanged_are_not_embedded_again(world: World) -> None:
    world.run(embed_of(TEXTS, into="table"))
    world.embeddings.asked.clear()
    result = outcome(world, world.run(embed_of(TEXTS | {"t5": "something else"}, into="table")))
    assert (result.written, result.unchanged) == (1, 69)
    assert world.embeddings.asked == [("something else", "passage")]
    assert np.array_equal(world.text_vectors.rows["c", "t5", "words"].embedding, vector_of("something else"))


@pytest.mark.parametrize("change", ["model", "input_type", "collection"])
def test_another_model_side_or_collection_is_embedded_anew(world: World, change: str) -> None:
    world.run(embed_of({"a": "ships"}, into="table"))
    fields: dict[str, object] = {"input_type": "query"} if change == "input_type" else {}
    fields |= {"collection": "other"} if change == "collection" else {}
    world.embeddings.model = "another" if change == "model" else "words"
    assert outcome(world, world.run(embed_of({"a": "ships"}, into="table", **fields))).written == 1


def test_a_killed_step_asks_for_no_row_that_is_in_the_table(world: World) -> None:
    request = embed_of(TEXTS, into="table")
    job_id = world.submit(request)
    dies_at_call(world, 3)
    world.ring(job_id, request, "embed")
    assert len(world.text_vectors.rows) == 64
    world.ring(job_id, request, "embed")
    result = outcome(world, job_id)
    assert (result.written, result.unchanged) == (6, 64)
    assert len(world.embeddings.asked) == 70


def test_a_text_that_the_provider_refuses_is_named_and_the_others_have_their_vectors(world: World) -> None:
    honest = world.embeddings.embed

    def picky(texts: Sequence[str], **kwargs: Any) -> Any:
        refused = {index: Unacceptable("HTTP 500") for index, text in enumerate(texts) if text.endswith("7")}
        if refused:
            raise Unacceptable("HTTP 500", refused=refused)
        return honest(texts, **kwargs)

    world.embeddings.embed = picky  # type: ignore[method-assign]
    result = outcome(world, world.run(embed_of(TEXTS)))
    assert list(result.vectors) == [text_id for text_id in TEXTS if not text_id.endswith("7")]
    assert not result.complete
    (missing,) = result.degraded
    assert (missing.stage, missing.code) == ("embed", "provider_refused")
    named = ", ".join(f"t{number} (HTTP 500)" for number in (7, 17, 27, 37, 47))
    assert missing.reason == f"7 texts have no vector: {named}, …"

    stored = outcome(world, world.run(embed_of(TEXTS, into="table")))
    assert (stored.written, stored.complete, len(stored.degraded)) == (63, False, 1)
