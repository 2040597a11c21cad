"""Sessions found by their passages, and by the messages of a time alone."""

from datetime import timedelta
from math import expm1, log1p

import pytest

from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.ingest import Extend
from querymill_shared.contracts.sessions import ChatMessage, ChatSession
from querymill_workers.retrievers.conversations.ports.sessions import SPACE
from querymill_workers.retrievers.conversations.search import recall
from querymill_workers.retrievers.conversations.search.recall import find_sessions
from tests.fixtures.world import World
from tests.unit.retrievers.conversations.search.test_step import NOW, ids, search, take_in, talk

#: Fills most of a passage with words that no test asks for.
FILL = "lorem " * 500


def entries(world: World, collection: str = "talks") -> list[str]:
    return sorted(hit.id for hit in world.words.search(collection, SPACE, "lorem ships soup", limit=99))


def days(*moments: tuple[float, str], session_id: str = "s", name: str | None = None) -> ChatSession:
    """Build a session whose messages were written so many days ago."""
    messages = tuple(
        ChatMessage(message_id=f"m{place}", role="user", text=text, created_at=NOW - timedelta(days=ago))
        for place, (ago, text) in enumerate(moments)
    )
    began = messages[0].created_at or NOW
    return ChatSession(session_id=session_id, name=name, started_at=began, messages=messages)


def test_the_passages_of_a_long_session_are_put_together(world: World) -> None:
    take_in(world, talk("long", f"{FILL} ships", "soup", f"{FILL} ships", FILL), talk("b", "soup", "bread"))
    assert entries(world) == ["b", "long", "long\x1f#1", "long\x1f#2"]
    (hit,) = search(world, "ships", scoring="bm25").results
    explained = hit.explanation["bm25"]
    scores = [row["score"] for row in explained["passages"]]
    assert sorted(row["passage"] for row in explained["passages"]) == [0, 1]
    assert explained["score"] == pytest.approx(2 * log1p(sum(expm1(score / 2) for score in scores)))
    assert explained["best"] == sum(term["score"] for term in explained["terms"])


def test_a_session_that_is_long_does_not_win_by_its_length(world: World) -> None:
    apt = "the ships of the harbour are painted in spring, all ships at once"
    take_in(world, talk("apt", apt), *(talk(f"t{n}", "rope and tar") for n in range(6)))
    take_in(world, talk("long", *([f"{FILL} the harbour"] * 3), *([f"{FILL} paint"] * 3)))
    assert ids(search(world, "painted ships in the harbour", time_filter=False))[0] == "apt"


def test_a_session_is_found_by_its_name(world: World) -> None:
    take_in(world, talk("a", "soup for lunch", name="Gamma"), talk("b", "bread"), talk("c", "Gamma rays, gamma"))
    assert ids(search(world, "Gamma", scoring="bm25")) == ["c", "a"]
    hit = search(world, "Gamma").results[1]
    assert (hit.snippet, hit.message_number, hit.message_at) == ("Gamma", None, None)


def test_a_new_name_counts_and_the_old_one_no_longer(world: World) -> None:
    take_in(world, talk("a", "soup", name="Gamma"))
    update = {"session_id": "a", "name": "Delta", "messages": [{"message_id": "x", "text": "bread"}]}
    world.result(
        world.run(Extend.model_validate({"collection": "talks", "retriever": "conversations", "documents": [update]}))
    )
    assert (ids(search(world, "Gamma")), ids(search(world, "Delta bread"))) == ([], ["a"])


def test_passages_that_a_session_no_longer_has_are_gone(world: World) -> None:
    take_in(world, talk("s", f"{FILL} ships", f"{FILL} soup", FILL))
    assert entries(world) == ["s", "s\x1f#1", "s\x1f#2"]
    take_in(world, talk("s", "ships"))
    assert (entries(world), ids(search(world, "soup"))) == (["s"], [])
    take_in(world, talk("s", f"{FILL} ships", f"{FILL} soup"))
    world.result(world.run(DropDocuments(collection="talks", retriever="conversations", ids=("s",))))
    assert entries(world) == []


def test_only_messages_of_the_time_are_scored_and_shown(world: World) -> None:
    take_in(world, days((90, "the ships"), (1, "soup and bread"), (1, "a ship at last"), session_id="both"))
    take_in(world, days((90, "ships, ships, ships and ships"), (1, "soup"), session_id="then"))
    take_in(world, *(talk(f"t{number}", "ships", days=1) for number in range(3)))
    result = search(world, "ships yesterday")
    assert (result.degraded, "then" in ids(result)) == ((), False)
    (hit,) = [hit for hit in result.results if hit.session_id == "both"]
    assert (hit.snippet, hit.message_id, hit.message_number, hit.message_at) == (
        "a ship at last", "m2", 3, NOW - timedelta(days=1),
    )  # fmt: skip
    why = search(world, "ships yesterday", why_not="then").why_not
    assert why is not None
    assert why.failed is not None
    assert (why.failed.name, why.failed.said) == (
        "words", "its messages from the time asked for have none of the words that were searched",
    )  # fmt: skip


def test_when_few_talk_of_it_then_the_others_come_below(world: World) -> None:
    take_in(world, days((90, "ships, ships"), (1, "soup"), session_id="then"), talk("now", "a ship", days=1))
    result = search(world, "ships yesterday")
    assert (ids(result), result.degraded[0].stage) == (["now", "then"], "time")
    assert result.results[1].message_number == 1


def test_how_many_are_wanted_changes_nothing_at_the_head(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "PASSAGES", 3)
    take_in(world, talk("a", *[f"{FILL} ships ships"] * 4))
    take_in(world, *(talk(f"t{number}", f"ships {'soup ' * number}") for number in range(8)))

    def found(wanted: int) -> list[tuple[str, float]]:
        hits = find_sessions(world.words, "talks", "ships", limit=50, wanted=wanted, groups=None)
        return [(hit.id, hit.score) for hit in hits]

    assert len(found(9)) == 9
    assert found(9)[: len(found(1))] == found(1)
