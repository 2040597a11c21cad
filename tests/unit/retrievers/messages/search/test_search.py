import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from querymill_shared.contracts.events import Hits
from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch
from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.inference.ports import InputType, Vectors
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.retrievers.messages.search import step
from querymill_workers.retrievers.messages.search.question_vector import FALLBACK_MARGIN_S
from querymill_workers.text.calibration import Calibration
from querymill_workers.words.memory import MemoryWords
from tests.fakes.models import WordEmbeddings
from tests.fakes.vectors import DIMENSIONS
from tests.fixtures.chats import session
from tests.fixtures.world import World


def take_in(world: World, *sessions: ChatSession, collection: str = "chats") -> None:
    for given in sessions:
        world.result(world.run(IngestMessages(collection=collection, documents=(given,))))


def search(world: World, query: str, collection: str = "chats", **fields: object) -> MessageResult:
    request = MessageSearch.model_validate({"collection": collection, "query": query, "ranking": "vectors"} | fields)
    result = world.result(world.run(request))
    assert isinstance(result, MessageResult)
    return result


def ids(result: MessageResult) -> list[str | None]:
    return [hit.message_id for hit in result.results]


def test_the_message_that_means_the_same_is_found(world: World) -> None:
    take_in(world, session("s", "the fleet counts nine ships", "soup for lunch", name="Harbour", user_name="Ada"))
    result = search(world, "how many ships counts the fleet", similarity_threshold=0.5)
    (hit,) = result.results
    assert (result.mode, result.searched, result.total, result.total_is_exact) == ("vector", "exact", 1, True)
    assert (hit.message_id, hit.session_name, hit.user_name, hit.message_role) == ("a", "Harbour", "Ada", "user")
    assert hit.created_at == datetime(2026, 1, 1, 10, 0, tzinfo=UTC)


def test_a_session_given_is_the_only_one_searched(world: World) -> None:
    take_in(world, session("s", "ships at sea"), session("t", "ships at sea"))
    assert [hit.session_id for hit in search(world, "ships at sea", session_id="t").results] == ["t"]
    assert search(world, "ships at sea", session_id="nowhere").results == ()


@pytest.mark.parametrize("reason", [Unavailable("no answer in time"), Refused("the limit leaves no call")])
def test_without_a_vector_the_words_answer_and_it_says_why(world: World, reason: Exception) -> None:
    take_in(world, session("s", "the fleet counts nine ships", "soup for lunch", "ships"))
    world.embeddings.fails_with = reason
    result = search(world, "how many ships are there")
    assert (result.mode, result.why, result.searched) == ("text", str(reason), None)
    assert (result.complete, result.degraded[0].stage) == (False, "embed")
    assert ids(result) == ["c", "a"]
    assert {hit.similarity for hit in result.results} == {0.5}


def test_text_puts_the_newest_that_contains_the_question_first(world: World) -> None:
    take_in(world, session("s", "100% of ships", "ships and 100% of ships", "1000 of ships", "100 ships"))
    world.embeddings.fails_with = Unavailable("away")
    result = search(world, "100% OF ships")
    assert ids(result)[:2] == ["b", "a"]
    assert [hit.found_by for hit in result.results][:3] == [("substring",), ("substring",), ("words",)]


COSINES = (0.9, 0.8, 0.75, 0.6, 0.5, 0.4)


def angled(world: World) -> None:
    """Let a text that is a number have that cosine with every question."""

    def embed(texts: Any, *, input_type: str, caller: object) -> tuple[Vectors, ProviderUsage]:
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, text in zip(rows, texts, strict=True):
            cosine = 1.0 if input_type == "query" else float(text.split()[0])
            row[:2] = cosine, (1 - cosine**2) ** 0.5
        return rows, ProviderUsage()

    world.embeddings.embed = embed  # type: ignore[method-assign]


def test_the_worked_example_of_threshold_and_limit(world: World) -> None:
    angled(world)
    take_in(world, session("s", *map(str, COSINES)))
    result = search(world, "q", similarity_threshold=0.7, limit=5)
    assert [hit.similarity for hit in result.results] == [0.9, 0.8, 0.75]
    assert (result.total, result.best_below_threshold) == (3, None)
    without = search(world, "q", similarity_threshold=None, limit=5)
    assert ([hit.similarity for hit in without.results], without.total) == ([0.9, 0.8, 0.75, 0.6, 0.5], 6)
    cut = search(world, "q", similarity_threshold=0.7, limit=2)
    assert ([hit.similarity for hit in cut.results], cut.total) == ([0.9, 0.8], 3)


def test_a_threshold_that_removes_everything_tells_the_best_there_was(world: World) -> None:
    angled(world)
    take_in(world, session("s", *map(str, COSINES)))
    result = search(world, "q", similarity_threshold=0.95)
    assert (result.results, result.total, result.best_below_threshold) == ((), 0, 0.9)
    assert result.mode == "vector"
    hybrid = search(world, "q", similarity_threshold=0.95, hybrid=True)
    assert (hybrid.results, hybrid.best_below_threshold, hybrid.mode) == ((), 0.9, "hybrid")
    assert search(world, "q", similarity_threshold=0.7, hybrid=True).best_below_threshold is None


def test_the_threshold_is_applied_to_the_calibrated_similarity(world: World) -> None:
    angled(world)
    world.with_ports(calibration=Calibration(((0.5, 0.0), (0.8, 0.6), (1.0, 1.0))))
    take_in(world, session("s", *map(str, COSINES)))
    result = search(world, "q", similarity_threshold=0.6)
    assert [(hit.similarity, hit.raw_similarity) for hit in result.results] == [(0.8, 0.9), (0.6, 0.8)]
    assert [hit.band for hit in result.results] == ["high", "medium"]
    assert result.total == 2
    assert result.results[0].explanation["calibration"] == [[0.5, 0.0], [0.8, 0.6], [1.0, 1.0]]


@pytest.mark.parametrize(
    ("preset", "expected"),
    [("exact", 2), ("related", 4), ("fuzzy", 5), ("persona", 5), ("script", 5), ("recommend", 4), ("explore", 6)],
)
def test_a_preset_sets_threshold_and_limit(world: World, preset: str, expected: int) -> None:
    angled(world)
    take_in(world, session("s", *map(str, COSINES)))
    result = search(world, "q", preset=preset)
    assert len(result.results) == expected
    used = [hit.must_use for hit in result.results]
    assert used == ([True, True, True, False, False] if preset == "script" else [False] * expected)


def test_what_a_message_excludes_is_the_message_and_its_context(world: World) -> None:
    take_in(world, session("s", *["ships"] * 5, ids=["0", None, None, None, "4"]))
    result = search(world, "ships", exclude_message_id=0, include_context=True, limit=20, similarity_threshold=None)
    assert sorted(hit.message_id or "" for hit in result.results) == ["", "", "", "4"]
    contexts = search(world, "ships", exclude_message_id=0, vector_type="context", limit=20, similarity_threshold=None)
    assert sorted(hit.message_id or "" for hit in contexts.results) == ["", "4"]


def stored_only(world: World, *sessions: ChatSession) -> None:
    """Take sessions in while the provider is away."""
    world.embeddings.fails_with = Unavailable("away")
    take_in(world, *sessions)
    world.embeddings.fails_with = None


def test_a_pending_message_is_found_by_its_words_at_once(world: World) -> None:
    stored_only(world, session("s", "nine ships", "soup"))
    result = search(world, "how many ships")
    assert (result.mode, ids(result), result.skipped) == ("text", ["a"], 2)
    assert result.why == "none of the 2 rows has a vector of words yet"
    take_in(world, session("s", "nine ships", "soup"))
    assert search(world, "nine ships").mode == "vector"


def test_pending_messages_join_the_vectors_in_the_place_of_their_similarity(world: World) -> None:
    angled(world)
    take_in(world, session("s", *map(str, COSINES)))
    stored_only(world, session("t", "the herons", "a heron and 0.9 more", "soup", ids=["x", "y", "z"]))
    result = search(world, "which heron", similarity_threshold=0.7)
    assert [(hit.similarity, hit.found_by) for hit in result.results] == [
        (0.9, ("vector",)), (0.8, ("vector",)), (0.75, ("vector",)), (0.5, ("words",)), (0.5, ("words",)),
    ]  # fmt: skip
    assert (result.mode, result.total, result.skipped, result.complete) == ("vector", 5, 3, False)
    assert [(part.stage, part.reason) for part in result.degraded] == [("embed", "3 rows pending")]
    assert [hit.score for hit in result.results] == [hit.similarity for hit in result.results]
    assert {hit.message_id for hit in result.results[3:]} == {"x", "y"}
    without = search(world, "which heron", similarity_threshold=None, limit=8)
    assert [hit.similarity for hit in without.results] == [0.9, 0.8, 0.75, 0.6, 0.5, 0.5, 0.5, 0.4]
    # A pending message with a rare word keeps the last place, but never the first.
    assert [hit.similarity for hit in search(world, "which heron", limit=3).results] == [0.9, 0.8, 0.5]
    assert [hit.similarity for hit in search(world, "which heron", limit=1).results] == [0.9]


def test_pending_messages_are_filtered_as_the_others_are(world: World) -> None:
    take_in(world, session("s", "soup"))
    stored_only(world, session("t", "a heron", "herons", ids=["x", "y"]), session("u", "a heron"))
    found = search(world, "heron", session_id="t", exclude_message_id="x", similarity_threshold=1.0)
    assert [(hit.session_id, hit.message_id) for hit in found.results] == [("t", "y")]
    contexts = search(world, "heron", vector_type="context", similarity_threshold=1.0)
    assert {hit.vector_type for hit in contexts.results} == {"context"}


def test_a_threshold_that_leaves_only_pending_messages_still_tells_the_best_vector(world: World) -> None:
    angled(world)
    take_in(world, session("s", "0.6"))
    stored_only(world, session("t", "a heron"))
    result = search(world, "heron")
    assert ([hit.similarity for hit in result.results], result.best_below_threshold) == ([0.5], 0.6)


def test_text_is_filtered_as_vectors_are(world: World) -> None:
    take_in(world, session("s", "ships", "ships"), session("t", "ships"))
    world.embeddings.fails_with = Unavailable("away")
    assert ids(search(world, "how do ships sail", session_id="s", exclude_message_id="a")) == ["b"]


def test_many_excluded_rows_do_not_starve_a_search_by_words(world: World) -> None:
    sessions = [session(f"s{number:03}", "ship ship", ids=["same"]) for number in range(120)]
    take_in(world, *sessions, session("z", "a ship and much else besides", ids=["other"]))
    world.embeddings.fails_with = Unavailable("away")
    assert ids(search(world, "which ship", exclude_message_id="same")) == ["other"]


def test_words_of_another_tokeniser_leave_the_substring_and_say_so(world: World) -> None:
    take_in(world, session("s", "nine ships"))
    for collection, space, version in list(world.words._spaces):
        world.words._spaces[collection, space, 0] = world.words._spaces.pop((collection, space, version))
    world.embeddings.fails_with = Unavailable("away")
    result = search(world, "nine ship")
    assert (ids(result), [part.stage for part in result.degraded]) == (["a"], ["embed", "words"])


def test_hybrid_joins_both_rankings_by_rank_and_explains_it(world: World) -> None:
    angled(world)
    take_in(world, session("s", "0.9 soup", "0.8 ship", "0.6 ship rope mast", "0.5 rope"))
    result = search(world, "ship", hybrid=True, similarity_threshold=None)
    assert (result.mode, ids(result)[:2]) == ("hybrid", ["b", "c"])
    best = result.results[0]
    assert best.score == pytest.approx(1 / (60 + 2) + 1 / (60 + 1))
    assert (best.found_by, best.explanation["rrf_k"]) == (("vector", "words"), 60)
    alone = search(world, "ship", hybrid=True, similarity_threshold=None, words_weight=0.001, rrf_k=1)
    assert ids(alone) == ["a", "b", "c", "d"]


def test_the_threshold_holds_for_hits_of_the_words_too(world: World) -> None:
    angled(world)
    take_in(world, session("s", "0.9 soup", "0.4 ship"))
    assert ids(search(world, "ship", hybrid=True, similarity_threshold=0.7)) == ["a"]


def test_hybrid_finds_what_is_still_pending(world: World) -> None:
    take_in(world, session("s", "soup of the day"))
    world.embeddings.fails_with = Unavailable("away")
    world.run(IngestMessages(collection="chats", documents=(session("t", "nine ships", ids=["new"]),)))
    world.embeddings.fails_with = None
    result = search(world, "ships", hybrid=True)
    assert (result.mode, ids(result), result.skipped) == ("hybrid", ["new"], 1)
    assert result.results[0].raw_similarity is None


def test_hybrid_with_contexts_shows_each_message_once(world: World) -> None:
    take_in(world, session("s", "ships", "soup", "rope"))
    result = search(world, "ships", hybrid=True, include_context=True, similarity_threshold=None)
    assert sorted(filter(None, ids(result))) == ["a", "b", "c"]
    assert {hit.vector_type for hit in result.results} == {"message"}
    assert set(result.results[0].explanation["weights"].values()) == {0.5}


def test_no_collection_finds_anothers_messages_by_any_way(world: World) -> None:
    take_in(world, session("s", "nine ships"))
    take_in(world, session("s", "soup"), collection="others")
    for fields in ({}, {"hybrid": True}, {"include_context": True}):
        found = search(world, "ships", "chats", similarity_threshold=None, **fields)
        assert [hit.content for hit in found.results] == ["nine ships"]
    world.embeddings.fails_with = Unavailable("away")
    assert search(world, "nine ships", collection="others").results == ()


def test_an_empty_collection_of_words_is_no_error(world: World) -> None:
    world.with_ports(words=MemoryWords())
    assert search(world, "ships", hybrid=True).results == ()


def test_a_search_with_no_time_left_to_embed_is_by_text_and_says_so(world: World) -> None:
    take_in(world, session("s", "nine ships"))
    claimed = world.board.claim(world.submit(MessageSearch(collection="chats", query="nine ships")), "search")
    assert claimed is not None
    at_once = replace(claimed, expires_at=world.ports.clock() + FALLBACK_MARGIN_S / 2)
    world.embeddings.asked.clear()
    step(at_once, MessageSearch(collection="chats", query="nine ships"), world.ports)
    result = world.result(claimed.job_id)
    assert isinstance(result, MessageResult)
    assert (result.mode, ids(result), world.embeddings.asked) == ("text", ["a"], [])
    assert result.why == "cut by the deadline before the embedding model was asked"


def test_a_search_by_text_is_not_by_the_model_but_names_the_one_it_lacks(world: World) -> None:
    take_in(world, session("s", "nine ships"))
    vectors = world.ports.vectors["messages"]
    vectors.drop_model("chats")
    vectors.active_model("chats", first="lost")
    result = search(world, "ships")
    assert result.why is not None
    assert "come from lost but the workers embed by words; run `querymill reembed messages`" in result.why
    assert [part.stage for part in result.degraded] == ["embed"]


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_question_longer_than_the_models_input_says_that_it_was_cut(world: World, hybrid: bool) -> None:
    take_in(world, session("s", "the fleet counts nine ships"))
    world.embeddings.max_text_tokens = 5
    long = search(world, "how many ships counts the fleet of Nordhav", similarity_threshold=None, hybrid=hybrid)
    assert (long.mode, ids(long)) == ("hybrid" if hybrid else "vector", ["a"])
    cut = [(part.stage, part.reason) for part in long.degraded]
    assert (cut, long.complete) == ([("embed", "the query was cut to the model's input of 5 tokens")], False)
    assert search(world, "nine ships", similarity_threshold=None, hybrid=hybrid).complete


@pytest.mark.parametrize(("deadline", "patience_s"), [(30.0, 2.0), (1.0, 1.0 - FALLBACK_MARGIN_S)])
def test_the_words_wait_for_the_vector_a_moment_and_never_past_the_deadline(
    world: World, monkeypatch: pytest.MonkeyPatch, deadline: float, patience_s: float
) -> None:
    take_in(world, session("s", "ships"))
    until: list[float | None] = []

    def too_late(texts: Any, *, input_type: str, caller: Caller) -> tuple[Vectors, ProviderUsage]:
        until.append(caller.expires_at)
        raise Refused("embedding unavailable: no response in time")

    monkeypatch.setattr(world.embeddings, "embed", too_late)
    asked = time.monotonic()
    world.with_ports(clock=lambda: asked)  # however long the machine takes, none of the time is used up
    result = search(world, "ships", hybrid=True, deadline=deadline)
    assert (result.mode, ids(result), result.degraded[0].reason) == (
        "text", ["a"], "embedding unavailable: no response in time",
    )  # fmt: skip
    assert until[0] is not None
    assert until[0] == pytest.approx(asked + patience_s, abs=0.2)


class Gated(WordEmbeddings):
    """A model that answers a question once it is let, or as it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = threading.Event()
        self.error: Exception | None = None

    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, ProviderUsage]:
        if input_type == "query":
            assert self.may_answer.wait(30)
            if self.error is not None:
                raise self.error
        return super().embed(texts, input_type=input_type, caller=caller)


@pytest.mark.parametrize("error", [None, Unavailable("embedding: no answer in time")])
def test_the_hits_by_words_are_on_the_board_before_the_vector_is_there(world: World, error: Exception | None) -> None:
    take_in(world, session("s", "nine ships in the harbour", "hot soup", "ships at sea"))
    model = Gated()
    model.error = error
    world.with_ports(embeddings=model)
    request = MessageSearch(collection="chats", query="ships in the harbour", ranking="best", limit=1)
    job_id = world.submit(request)
    running = threading.Thread(target=lambda: world.ring(job_id, request, request.steps[0]))
    running.start()
    deadline = time.monotonic() + 30
    while not (told := [event for _, event in world.board.events(job_id) if isinstance(event, Hits)]):
        assert time.monotonic() < deadline
    model.may_answer.set()
    running.join(30)
    result = world.result(job_id)
    assert isinstance(result, MessageResult)
    assert told[0].after_stage == "words"
    assert told[0].hits[0].key == result.results[0].vector_id
    assert told[0].hits[0].text == result.results[0].content
    assert result.mode == ("hybrid" if error is None else "text")
    assert [gap.reason for gap in result.degraded] == ([] if error is None else [str(error)])
    assert result.why == (None if error is None else str(error))


def test_a_question_whose_vector_is_known_is_searched_once(world: World) -> None:
    take_in(world, session("s", "nine ships in the harbour", "hot soup"))
    world.embeddings.known = {"ships"}
    job_id = world.run(MessageSearch(collection="chats", query="ships", ranking="best"))
    assert not [event for _, event in world.board.events(job_id) if isinstance(event, Hits)]


def test_what_only_asks_for_a_message_is_not_searched_by_the_best_ranking(world: World) -> None:
    take_in(world, session("s", "did anyone else mention that", "crypttab holds the key", "anyone there", "soup"))
    framed, plain = (search(world, query, ranking="best") for query in ("did anyone mention crypttab", "crypttab"))
    assert framed.query == "did anyone mention crypttab"
    assert [(hit.message_id, hit.score) for hit in framed.results] == [
        (hit.message_id, hit.score) for hit in plain.results
    ]
    by_vectors = search(world, "did anyone mention crypttab", similarity_threshold=None)
    assert ids(by_vectors)[0] == "a"
