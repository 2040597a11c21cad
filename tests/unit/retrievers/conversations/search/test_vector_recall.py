"""Vectors of passages: made after ingestion, joined with the words, and gone with their session. In memory."""

from collections.abc import Sequence
from datetime import timedelta
from math import prod

import pytest

from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.conversations.search import ConversationResult, ConversationSearch
from querymill_shared.contracts.documents import DropDocuments, ListDocuments
from querymill_shared.contracts.ingest import Extend
from querymill_shared.contracts.reindex import Reindex, ReindexResult
from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.dispatch import run_step
from querymill_workers.inference.ports import InputType, Vectors
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.retrievers.conversations.embed import EMBEDDABLE
from tests.fakes.models import WordEmbeddings
from tests.fixtures.world import World
from tests.unit.retrievers.conversations.search.test_step import NOW, ids, take_in, talk

#: Long enough that no other message joins its passage.
LONG = "lorem " * 65


class Bilingual(WordEmbeddings):
    """A model to which 船 means the same as ships."""

    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, ProviderUsage]:
        return super().embed([text.replace("帆船", " ships ") for text in texts], input_type=input_type, caller=caller)


def search(world: World, query: str, **fields: object) -> ConversationResult:
    asked = {"collection": "talks", "query": query, "now": NOW} | fields
    result = world.result(world.run(ConversationSearch.model_validate(asked)))
    assert isinstance(result, ConversationResult)
    return result


def embedded(world: World) -> list[str]:
    """List the passages that were sent to the model."""
    return [text for text, kind in world.embeddings.asked if kind == "passage"]


def pending(world: World, model: str = "words") -> int:
    return world.ports.vectors["conversations"].counts("talks", model=model).pending


def gaps(result: ConversationResult) -> list[tuple[str, str]]:
    return [(gap.stage, gap.reason) for gap in result.degraded]


def update(session_id: str, message_id: str, text: str) -> Extend:
    said = {"session_id": session_id, "messages": [{"message_id": message_id, "text": text}]}
    return Extend.model_validate({"collection": "talks", "retriever": "conversations", "documents": [said]})


def ingest_alone(world: World, session: ChatSession) -> Sequence[Bell]:
    """Ingest a session and answer none of the bells that follow."""
    request = IngestConversations(collection="talks", documents=(session,))
    return run_step.run_step(Bell(world.submit(request), "ingest", request.queue), world.ports)


def test_words_answer_at_once_and_the_vectors_follow(world: World) -> None:
    bells = ingest_alone(world, talk("a", "ships in the harbour"))
    first = search(world, "ships")
    assert (ids(first), gaps(first), first.complete) == (["a"], [("embed", "1 rows pending")], False)
    assert "joined" not in first.results[0].explanation
    assert world.embeddings.asked == []
    world.answer(*bells)
    assert embedded(world) == ["ships in the harbour"]
    then = search(world, "ships")
    assert (ids(then), then.degraded, then.complete) == (["a"], (), True)
    assert then.results[0].explanation["joined"]["ranks"] == {"words": 1, "vectors": 1}
    assert then.usage["provider_calls"] == 1


def test_every_score_is_recomputed_from_its_explanation(world: World) -> None:
    take_in(world, talk("a", "ships"), talk("b", "ships and soup", days=300), talk("c", "soup and one of the ships"))
    result = search(world, "ships", current_session="b")
    by_words = []
    for hit in result.results:
        joined = hit.explanation["joined"]
        summed = sum(joined["weights"][name] / (joined["k"] + rank) for name, rank in joined["ranks"].items())
        assert hit.score == joined["score"] == pytest.approx(summed)
        assert joined["words"] == prod(hit.explanation["factors"].values())
        by_words.append((joined["ranks"]["words"], -joined["words"]))
        assert -1 <= joined["cosine"] <= 1
    assert sorted(by_words) == sorted(by_words, key=lambda row: row[1]), "the ranks are those of the scores by words"
    assert len(by_words) == 3


def test_a_question_in_another_language_finds_what_means_the_same(world: World) -> None:
    world.with_ports(embeddings=Bilingual())
    take_in(world, talk("a", "we built ships"), talk("b", "soup for lunch"))
    result = search(world, "帆船")
    hit = result.results[0]
    assert (hit.session_id, hit.snippet, hit.marks, hit.message_id, hit.message_number) == (
        "a", "we built ships", (), "a0", 1,
    )  # fmt: skip
    assert hit.explanation["joined"]["ranks"] == {"vectors": 1}
    assert hit.score == pytest.approx(0.25 / 11)
    assert ids(search(world, "帆船", vectors=False)) == []


def test_vectors_are_joined_where_the_request_does_not_say_otherwise(world: World) -> None:
    take_in(world, talk("a", "ships"))
    for fields, is_joined in (
        ({}, True),
        ({"scoring": "product"}, False),
        ({"scoring": "bm25"}, False),
        ({"diversify": True}, False),
        ({"vectors": False}, False),
        ({"scoring": "product", "vectors": True}, True),
    ):
        (hit,) = search(world, "ships", **fields).results
        assert ("joined" in hit.explanation) == is_joined, fields


def test_filters_and_times_are_predicates_of_the_vectors(world: World) -> None:
    world.with_ports(embeddings=Bilingual())
    near = [talk(f"n{number}", "ships", days=number + 20) for number in range(60)]
    wanted = talk("wanted", "ships, amid a lot of other things", days=1).model_copy(update={"user_name": "ada"})
    take_in(world, *near, wanted)
    assert "wanted" not in ids(search(world, "帆船", top_n=60))
    assert ids(search(world, "帆船", filter={"user_name": "ada"})) == ["wanted"]
    assert ids(search(world, "昨天的帆船")) == ["wanted"]
    assert ids(search(world, "帆船", filter={"session_id": "none"})) == []


def test_of_a_session_that_goes_on_only_the_passages_of_the_time_count(world: World) -> None:
    world.with_ports(embeddings=Bilingual())
    long = talk("long", f"ships {LONG}", f"soup {LONG}", days=1)
    early = long.messages[0].model_copy(update={"created_at": NOW - timedelta(days=100)})
    take_in(world, long.model_copy(update={"messages": (early, long.messages[1])}))
    (hit,) = search(world, "昨天的帆船").results
    assert (hit.message_id, hit.snippet[:4]) == ("long1", "soup")


def test_a_relaxed_time_leaves_what_the_words_found_within_it_on_top(world: World) -> None:
    take_in(world, talk("then", "ships", days=1), talk("other", "ships ships", days=30))
    result = search(world, "ships yesterday")
    assert ids(result) == ["then", "other"]
    assert [gap.stage for gap in result.degraded] == ["time"]


def test_a_recap_asks_no_model(world: World) -> None:
    take_in(world, talk("a", "ships", days=1))
    before = len(world.embeddings.asked)
    result = search(world, "what did we do yesterday")
    assert (ids(result), len(world.embeddings.asked), result.degraded) == (["a"], before, ())


def test_the_frame_of_a_question_is_not_embedded_unless_filler_is_kept(world: World) -> None:
    take_in(world, talk("a", "ships"))
    world.embeddings.asked.clear()
    search(world, "which session talked about ships")
    search(world, "which session talked about ships", simplification=False)
    assert [text for text, _ in world.embeddings.asked] == ["ships", "which session talked about ships"]


def test_without_a_vector_in_time_the_words_answer_and_say_why(world: World) -> None:
    take_in(world, talk("a", "ships"))
    world.embeddings.fails_with = Unavailable("the embedding model does not answer")
    result = search(world, "ships")
    assert (ids(result), gaps(result)) == (["a"], [("embed", "the embedding model does not answer")])
    assert search(world, "ships", vectors=False).complete


def test_live_messages_have_only_what_is_new_embedded(world: World) -> None:
    take_in(world, talk("a", f"ships {LONG}", f"soup {LONG}"))
    world.embeddings.asked.clear()
    world.result(world.run(update("a", "x", "bread")))
    world.result(world.run(update("a", "y", "butter")))
    assert embedded(world) == ["bread", "bread\nbutter"]
    world.result(world.run(update("a", "y", "butter")))
    assert len(embedded(world)) == 2


def test_one_job_waits_for_a_session_however_often_it_changes(world: World) -> None:
    bells = list(ingest_alone(world, talk("a", "ships")))
    for number in range(3):
        request = update("a", f"m{number}", "soup")
        bells += run_step.run_step(Bell(world.submit(request), "extend", request.queue), world.ports)
    assert [bell.step for bell in bells].count("embed") == 2, "one in each lane: that of a load, and that of live chats"
    world.answer(*bells)
    assert pending(world) == 0


def test_forgetting_stops_the_embedding_within_one_batch(world: World) -> None:
    bells = ingest_alone(world, talk("a", *(f"{number} {LONG}" for number in range(50))))
    honest = world.embeddings.embed

    def forgotten_meanwhile(*args: object, **kwargs: object) -> object:
        if not world.embeddings.asked:
            world.run(DropDocuments(collection="talks", retriever="conversations", ids=("a",)))
        return honest(*args, **kwargs)  # type: ignore[arg-type]

    world.embeddings.embed = forgotten_meanwhile  # type: ignore[method-assign,assignment]
    world.answer(*bells)
    assert len(embedded(world)) <= EMBEDDABLE.batch
    assert world.ports.vectors["conversations"].counts("talks", model="words").passages == 0
    assert search(world, "lorem").results == ()


@pytest.mark.parametrize("how", ["replaced", "dropped by filter"])
def test_a_session_that_goes_leaves_no_vector(world: World, how: str) -> None:
    take_in(world, talk("a", f"ships {LONG}", f"bread {LONG}").model_copy(update={"user_name": "ada"}))
    if how == "replaced":
        take_in(world, talk("a", "soup"))
        kept = 1
    else:
        drops = {"collection": "talks", "retriever": "conversations", "filter": {"user_name": "ada"}}
        world.result(world.run(DropDocuments.model_validate(drops)))
        kept = 0
    assert world.ports.vectors["conversations"].counts("talks", model="words").passages == kept
    assert all("lorem" not in hit.snippet for hit in search(world, "lorem bread").results)


def test_a_model_that_nobody_can_ask_is_named(world: World) -> None:
    take_in(world, talk("a", "ships"))
    world.with_ports(embeddings=WordEmbeddings(model="other"))
    (gap,) = search(world, "ships").degraded
    assert "querymill reembed conversations" in gap.reason


def test_what_lacks_vectors_is_listed_and_a_reindex_has_it_embedded(world: World) -> None:
    take_in(world, talk("a", "ships"))
    ingest_alone(world, talk("b", "bread"))
    listed = world.result(world.run(ListDocuments(collection="talks", retriever="conversations")))
    assert [(card.id, card.pending) for card in listed.documents] == [("a", 0), ("b", 1)]  # type: ignore[union-attr]
    world.ports.vectors["conversations"].begin_embedding("talks", ["b"])  # as of a job that died
    result = world.result(world.run(Reindex(collection="talks", of="conversations")))
    assert isinstance(result, ReindexResult)
    assert (result.outcome, result.pending, pending(world)) == ("fresh", 1, 0)


def test_a_question_without_a_letter_asks_no_model(world: World) -> None:
    take_in(world, talk("a", "ships"))
    before = len(world.embeddings.asked)
    assert (search(world, "?!").results, len(world.embeddings.asked)) == ((), before)
