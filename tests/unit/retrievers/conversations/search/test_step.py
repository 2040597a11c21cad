"""Searching conversations by words, in memory."""

from datetime import UTC, datetime, timedelta
from math import prod

import pytest

from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.conversations.search import ConversationResult, ConversationSearch
from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.errors import UnknownJob
from querymill_shared.contracts.sessions import ChatMessage, ChatSession
from tests.fixtures.world import World

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)


def talk(session_id: str, *texts: str, days: float = 10, name: str | None = None) -> ChatSession:
    """Build a session whose messages were all written so many days ago."""
    at = NOW - timedelta(days=days)
    messages = tuple(
        ChatMessage(message_id=f"{session_id}{place}", role="user", text=text, created_at=at)
        for place, text in enumerate(texts)
    )
    return ChatSession(session_id=session_id, name=name, started_at=at, messages=messages)


def take_in(world: World, *sessions: ChatSession, collection: str = "talks") -> None:
    for one in sessions:
        world.result(world.run(IngestConversations(collection=collection, documents=(one,))))


def search(world: World, query: str, collection: str = "talks", **fields: object) -> ConversationResult:
    asked = {"collection": collection, "query": query, "now": NOW, "vectors": False} | fields
    result = world.result(world.run(ConversationSearch.model_validate(asked)))
    assert isinstance(result, ConversationResult)
    return result


def ids(result: ConversationResult) -> list[str]:
    return [hit.session_id for hit in result.results]


def test_the_session_that_talks_about_it_is_found_with_its_best_message(world: World) -> None:
    take_in(world, talk("a", "hello", "the harbour is full of ships", name="Harbour"), talk("b", "soup for lunch"))
    result = search(world, "ships in the harbour")
    (hit,) = result.results
    assert (hit.session_id, hit.name, hit.message_id, hit.snippet) == (
        "a",
        "Harbour",
        "a1",
        "the harbour is full of ships",
    )
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["harbour", "ships"]
    assert (result.total, result.complete, result.state) == (1, True, "done")


def test_a_result_says_how_long_it_waited_and_where_the_time_went(world: World) -> None:
    take_in(world, talk("a", "ships"))
    result = search(world, "ships")
    (stage,) = result.stages
    assert (stage.name, stage.state, stage.attempt, list(stage.timing)) == (
        "search", "done", 1, ["recall", "rank", "show"],
    )  # fmt: skip
    assert list(result.timing) == [
        "queued_ms", "first_branch_ms", "last_branch_ms", "recall_ms", "rank_ms", "show_ms",
    ]  # fmt: skip


@pytest.mark.parametrize("scoring", ["product", "bounded", "bm25"])
def test_the_factors_of_every_hit_multiply_to_its_score(world: World, scoring: str) -> None:
    take_in(world, talk("a", "ships"), talk("b", "ships and soup", days=300), talk("c", "one of the ships", days=1))
    for hit in search(world, "ships", scoring=scoring, current_session="b").results:
        assert hit.score == prod(hit.explanation["factors"].values())
        assert hit.explanation["bm25"]["score"] > 0


def test_product_puts_what_is_fresh_before_what_is_apt_and_bounded_does_not(world: World) -> None:
    take_in(world, talk("old", "ships", days=365), talk("new", "ships, soup, bread, rope, crew, sails, tar", days=0))
    assert ids(search(world, "ships", scoring="product")) == ["new", "old"]
    assert ids(search(world, "ships", scoring="bounded")) == ["old", "new"]
    assert ids(search(world, "ships", scoring="bm25")) == ["old", "new"]


def test_the_session_one_is_in_and_those_one_was_in_count_more(world: World) -> None:
    take_in(world, *(talk(name, "the ships") for name in "abc"))
    result = search(world, "ships", current_session="c", recent_sessions=["b"], scoring="product")
    assert ids(result) == ["c", "b", "a"]
    assert [hit.explanation["factors"]["context"] for hit in result.results] == [2.0, 1.5, 1.0]
    bounded = search(world, "ships", current_session="c", scoring="bounded", context_cap=1.1)
    assert bounded.results[0].explanation["factors"]["context"] == 1.1


def test_no_word_in_common_is_no_hit(world: World) -> None:
    take_in(world, talk("a", "ships"))
    result = search(world, "soup")
    assert (result.results, result.total) == ((), 0)
    assert search(world, "ships", collection="elsewhere").results == ()


def test_a_time_in_the_question_is_a_filter_and_not_a_word(world: World) -> None:
    take_in(world, talk("march", "ships", days=100), talk("now", "ships came in march", days=1))
    result = search(world, "ships in March")
    assert ids(result)[0] == "march"
    time = result.understanding.time
    assert time is not None
    assert (time.start, time.end, time.phrase) == (
        datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC), "in March",
    )  # fmt: skip
    assert result.understanding.searched == "ships"
    off = search(world, "ships in March", time_filter=False)
    assert ids(off)[0] == "now"
    assert off.understanding.time is None


def test_a_session_is_from_a_time_when_any_of_its_messages_is(world: World) -> None:
    long = talk("long", "ships", "soup", days=100)
    late = long.messages[1].model_copy(update={"created_at": NOW - timedelta(days=1)})
    take_in(world, long.model_copy(update={"messages": (long.messages[0], late)}))
    assert ids(search(world, "ships yesterday")) == ["long"]
    assert search(world, "三天前 ships").degraded[0].stage == "time"


def test_days_begin_where_the_asker_is(world: World) -> None:
    take_in(world, talk("a", "ships", days=0.2))  # 07:12 UTC, 15:12 in Shanghai
    assert ids(search(world, "ships today at 15:00", time_zone="Asia/Shanghai")) == ["a"]
    assert search(world, "ships today at 15:00", time_zone="Asia/Shanghai").complete
    assert not search(world, "ships today at 11:00").complete


def test_a_question_of_nothing_but_a_time_keeps_its_words(world: World) -> None:
    take_in(world, talk("a", "what happened yesterday", days=1))
    result = search(world, "yesterday")
    assert ids(result) == ["a"]
    assert result.understanding.searched == "yesterday"


def test_a_misspelled_word_is_read_as_one_of_the_collection(world: World) -> None:
    take_in(world, talk("a", "the database is slow"), talk("b", "soup"))
    result = search(world, "databse speed")
    assert ids(result) == ["a"]
    assert [(one.written, one.read_as) for one in result.understanding.corrections] == [("databse", "database")]
    off = search(world, "databse speed", spelling=False)
    assert (off.results, off.understanding.corrections) == ((), ())


def test_a_word_that_another_collection_knows_is_corrected_all_the_same(world: World) -> None:
    take_in(world, talk("a", "the database is slow"))
    take_in(world, talk("b", "databse"), collection="other")
    assert ids(search(world, "databse")) == ["a"]


def test_synonyms_find_the_other_language_and_do_not_drown_the_question(world: World) -> None:
    take_in(
        world,
        talk("en", "the cache is cold"),
        talk("zh", "缓存是空的，缓存，缓存"),
        talk("other", "soup"),
    )
    result = search(world, "cache", expansion=True, scoring="bm25")
    assert ids(result) == ["en", "zh"]
    assert result.understanding.synonyms[0].term == "cache"
    assert "缓存" in result.understanding.synonyms[0].synonyms
    assert ids(search(world, "cache", expansion=False)) == ["en"]
    assert ids(search(world, "cache", scoring="bm25")) == ["en", "zh"], "few are found by the words alone"


def test_a_deep_search_expands_and_gives_more(world: World) -> None:
    take_in(world, *(talk(f"s{number:02}", "the database pool", days=number) for number in range(30)))
    deep = search(world, "how do I tune the database connection pool in load_batch() now")
    assert (deep.understanding.mode, len(deep.results)) == ("deep", 20)
    assert deep.understanding.synonyms
    assert len(search(world, "pool").results) == 10
    assert len(search(world, "how do I tune the database connection pool in load_batch() now", top_n=3).results) == 3


def test_filler_is_dropped_and_said(world: World) -> None:
    take_in(world, talk("a", "the ships"))
    result = search(world, "please tell me about the ships")
    assert result.understanding.dropped == ("please", "tell me about")
    assert search(world, "please tell me about the ships", simplification=False).understanding.dropped == ()


def test_the_list_is_mixed_if_that_is_asked_for(world: World) -> None:
    same = [talk(f"s{number}", "ships", days=40) for number in range(6)]
    take_in(world, *same, talk("today", "ships", days=0.1))
    mixed = search(world, "ships", scoring="bm25", diversify=True)
    assert [(hit.session_id, hit.placed_by, hit.placed_for) for hit in mixed.results][:4] == [
        ("s0", "relevance", None), ("s1", "relevance", None), ("s2", "relevance", None), ("today", "age", "today"),
    ]  # fmt: skip
    plain = search(world, "ships", scoring="bm25")
    assert ids(plain) == ["s0", "s1", "s2", "s3", "s4", "s5", "today"]
    assert {hit.placed_by for hit in plain.results} == {"score"}


def test_today_in_the_mix_is_the_askers_calendar_day(world: World) -> None:
    take_in(world, *(talk(name, "ships", days=40) for name in "abc"), talk("d", "ships", days=0))
    later = NOW + timedelta(hours=5)  # 17:00, and in Shanghai 01:00 of the next day
    here = search(world, "ships", scoring="bm25", diversify=True, now=later)
    there = search(world, "ships", scoring="bm25", diversify=True, now=later, time_zone="Asia/Shanghai")
    assert [result.results[3].placed_for for result in (here, there)] == ["today", "week"]


def test_an_edit_and_a_drop_are_seen_by_the_next_search(world: World) -> None:
    take_in(world, talk("a", "ships"), talk("b", "soup"))
    assert ids(search(world, "ships")) == ["a"]
    take_in(world, talk("a", "rope"), talk("b", "ships"))
    assert ids(search(world, "ships")) == ["b"]
    world.run(DropDocuments(collection="talks", retriever="conversations", ids=("b",)))
    assert ids(search(world, "ships")) == []


def test_what_is_kept_is_not_searched_again_and_grows_old_all_the_same(world: World) -> None:
    take_in(world, talk("a", "ships", days=1))
    first = search(world, "ships", scoring="product")
    world.words.fails_with = AssertionError("searched again")
    later = search(world, "ships", scoring="product", now=NOW + timedelta(days=90))
    assert ids(later) == ["a"]
    assert later.results[0].explanation["days"] == pytest.approx(91)
    assert later.results[0].score < first.results[0].score
    assert search(world, "ships", current_session="a").results[0].explanation["factors"]["context"] > 1


def test_a_relative_time_is_kept_only_for_its_own_range(world: World) -> None:
    take_in(world, talk("a", "ships", days=1))
    assert ids(search(world, "ships yesterday")) == ["a"]
    assert search(world, "ships yesterday").complete
    assert not search(world, "ships yesterday", now=NOW + timedelta(days=1)).complete


def test_collections_keep_their_caches_apart(world: World) -> None:
    take_in(world, talk("a", "ships"))
    take_in(world, talk("b", "ships"), collection="others")
    assert ids(search(world, "ships")) == ["a"]
    assert ids(search(world, "ships", collection="others")) == ["b"]


def test_a_filter_is_applied_before_the_limit_and_hits_carry_metadata(world: World) -> None:
    take_in(world, *(talk(f"s{number}", "ships", days=number) for number in range(60)))
    plain = talk("wanted", "ships and soup and much else besides", days=300)
    tagged = ChatSession.model_validate(plain.model_dump() | {"user_name": "Ada", "tags": ["x", "y"]})
    take_in(world, tagged)
    (hit,) = search(world, "ships", filter={"user_name": "Ada", "tags": "y", "role": "user"}).results
    assert (hit.session_id, hit.metadata) == ("wanted", {"tags": ["x", "y"]})
    assert search(world, "ships", filter={"tags": "z"}).results == ()
    (first, *_) = search(world, "ships").results
    assert first.metadata is None
    (first, *_) = search(world, "ships", metadata=True).results
    assert first.metadata == {}


def test_a_session_that_the_filter_kept_out_says_so(world: World) -> None:
    take_in(world, talk("a", "ships"), talk("b", "ships"))
    result = search(world, "ships", filter={"session_id": "a"}, why_not="b")
    assert result.why_not is not None
    assert result.why_not.failed is not None
    assert (ids(result), result.why_not.failed.name) == (["a"], "filter")


def test_a_time_that_leaves_few_sessions_is_relaxed_and_says_so(world: World) -> None:
    take_in(world, talk("then", "ships", days=1), talk("other", "ships ships", days=40), talk("soup", "soup", days=1))
    result = search(world, "ships yesterday")
    assert ids(result) == ["then", "other"], "what is from then stands first, whatever the scores"
    assert [(gap.stage, gap.reason[:7]) for gap in result.degraded] == [("time", "relaxed")]
    assert not result.complete


def test_a_time_that_leaves_enough_is_kept_to(world: World) -> None:
    take_in(world, *(talk(f"then{number}", "ships", days=1) for number in range(3)), talk("other", "ships", days=40))
    result = search(world, "ships yesterday")
    assert sorted(ids(result)) == ["then0", "then1", "then2"]
    assert (result.complete, result.degraded) == (True, ())


@pytest.mark.parametrize(
    "question", ["what did we do yesterday", "昨天做了什么", "yesterday", "summarize my sessions from yesterday"]
)
def test_a_recap_lists_the_sessions_of_the_time_by_importance(world: World, question: str) -> None:
    words = ["ships", "soup", "rope", "crew", "sails", "tar", "bread"]
    long = talk("long", *(f"about {word}" for word in words), days=1)
    take_in(world, talk("short", "soup for lunch", days=1), long, talk("other", "what did we do yesterday", days=9))
    result = search(world, question, scoring="product")
    assert (ids(result), result.total, result.complete) == (["long", "short"], 2, True)
    assert result.results[0].snippet == "about ships"


def test_a_question_with_a_subject_is_no_recap(world: World) -> None:
    take_in(world, talk("ships", "ships", days=1), talk("soup", "soup", days=1))
    assert ids(search(world, "what did we do about the ships yesterday")) == ["ships"]


def test_synonyms_are_searched_where_the_words_find_little(world: World) -> None:
    take_in(world, talk("english", "the database connection timed out: timeout"))
    result = search(world, "数据库超时")
    assert ids(result) == ["english"]
    assert {expansion.term for expansion in result.understanding.synonyms} == {"数据库", "超时"}
    assert ids(search(world, "数据库超时", expansion=False)) == []


def test_what_is_shown_is_from_the_time_that_was_asked_for(world: World) -> None:
    long = talk("long", "ships ships", "one of the ships", days=40)
    late = long.messages[1].model_copy(update={"created_at": NOW - timedelta(days=1)})
    take_in(world, long.model_copy(update={"messages": (long.messages[0], late)}))
    assert search(world, "ships yesterday").results[0].snippet == "one of the ships"
    assert search(world, "ships").results[0].snippet == "ships ships"


def test_a_hit_of_the_time_by_a_synonym_stays_when_many_others_have_the_word_itself(world: World) -> None:
    crowd = [talk(f"s{number:02}", "the database", days=40) for number in range(12)]
    take_in(world, *crowd, talk("then", "数据库", days=1))
    assert ids(search(world, "database yesterday"))[0] == "then"


def test_a_time_is_relaxed_within_the_filter(world: World) -> None:
    take_in(world, talk("then", "ships", days=1), talk("other", "ships", days=40), talk("kept out", "ships", days=1))
    result = search(world, "ships yesterday", filter={"session_id": ["then", "other"]})
    assert ids(result) == ["then", "other"]


def test_what_the_board_holds_of_a_dropped_session_goes_with_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("querymill_shared.board.erasure.READABLE_MS", 0)
    take_in(world, talk("a", "ships"))
    searched = world.run(ConversationSearch(collection="talks", query="ships"))
    world.result(world.run(DropDocuments(collection="talks", retriever="conversations", ids=("a",))))
    with pytest.raises(UnknownJob):
        world.board.picture(searched)


def test_a_chinese_question_finds_english_sessions_whatever_its_latin_words_find(world: World) -> None:
    take_in(world, *(talk(f"n{number}", f"cursor ships {number}") for number in range(12)))
    take_in(world, talk("apt", "a shortcut that removes the row from the cursor list"))
    result = search(world, "cursor 里删除的快捷键")
    assert ids(result)[0] == "apt"
    assert ("快捷键", ("shortcut", "hotkey")) in [(one.term, one.synonyms) for one in result.understanding.synonyms]
    assert search(world, "cursor 里删除的快捷键", expansion=False).understanding.synonyms == ()


def test_a_chinese_question_among_chinese_sessions_is_left_as_it_is(world: World) -> None:
    take_in(world, *(talk(f"n{number}", f"怎么删除第 {number} 个快捷键") for number in range(12)))
    assert search(world, "怎么删除快捷键").understanding.synonyms == ()


@pytest.mark.parametrize(
    ("question", "found", "placed_for"),
    [
        ("the most recent session about ships", ["new", "mid", "old", "aside"], "newest"),
        ("when did we first talk about ships?", ["old", "mid", "new", "aside"], "oldest"),
        ("第一次聊到 ships 是什么时候", ["old", "mid", "new", "aside"], "oldest"),
    ],
)
def test_the_order_of_time_that_is_asked_for_comes_before_relevance(
    world: World, question: str, found: list[str], placed_for: str
) -> None:
    aside = "soup, bread, rope, crew, sails, tar and oars, then some ships " * 3
    take_in(
        world,
        talk("old", "ships and soup", days=300), talk("mid", "ships, ships, ships", days=100),
        talk("new", "bread for the ships", days=30), talk("aside", aside.replace("ships", "boats") + "ships", days=1),
    )  # fmt: skip
    result = search(world, question)
    assert ids(result) == found
    assert [(hit.placed_by, hit.placed_for) for hit in result.results] == [
        *[("age", placed_for)] * 3, ("score", None),
    ]  # fmt: skip
    assert ids(search(world, question, top_n=2)) == found[:2]


def test_a_subject_that_is_last_or_first_asks_for_no_order(world: World) -> None:
    take_in(world, talk("old", "the last of the ships, the last", days=300), talk("new", "ships, soup, rope", days=1))
    result = search(world, "when did we discuss the last ships")
    assert (ids(result)[0], result.results[0].placed_by) == ("old", "score")


def test_a_numbered_thing_is_found_before_what_has_its_name_often(world: World) -> None:
    many = [
        f"The PR {number} is green, so is every other PR. " + "Here is the next part of the file. " * 60
        for number in range(200, 230)
    ]
    take_in(
        world,
        talk("many", *many), talk("one", "Please review PR 178.", "It takes the lock twice. " * 40, "Merged."),
        *(talk(f"other{place}", "ships and soup " * 20, f"line {place}") for place in range(40)),
    )  # fmt: skip
    assert ids(search(world, "PR 178"))[0] == "one"
