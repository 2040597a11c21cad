from datetime import UTC, datetime

import pytest

from querymill_workers.retrievers.conversations.rules.key_phrases import MAX_PHRASES, key_phrases
from querymill_workers.retrievers.conversations.rules.session_facts import facts_of, facts_version
from querymill_workers.retrievers.conversations.rules.session_signs import Turn, is_solved, speaks_of_earlier
from querymill_workers.retrievers.conversations.rules.technical_keywords import TECHNICAL_KEYWORDS, TechnicalKeywords
from querymill_workers.retrievers.conversations.rules.text import searchable

KEYWORDS = TechnicalKeywords()
ANSWER = Turn("assistant", "```python\npool = open_pool()\n```")


def test_the_vocabulary_has_at_least_60_terms_of_both_languages_each_once() -> None:
    assert len(KEYWORDS.terms) == len(TECHNICAL_KEYWORDS) >= 60
    chinese = [term for term in KEYWORDS.terms if not term.isascii()]
    assert 30 < len(chinese) < len(KEYWORDS.terms) - 30


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Google it, or go on", {"go"}),
        ("gopher google ago", set()),
        ("用redis缓存数据库查询", {"redis", "缓存", "数据库", "查询"}),
        ("C++ and c# on Node.js", {"c++", "c#", "node.js"}),
        ("REDIS Redis redis", {"redis"}),
        ("go-redis", {"go", "redis"}),
        ("", set()),
    ],
)
def test_latin_terms_are_whole_words_and_chinese_ones_substrings(text: str, found: set[str]) -> None:
    assert KEYWORDS.of(text) == found


def test_the_vocabulary_is_the_users_choice_and_part_of_the_facts_version() -> None:
    chosen = TechnicalKeywords(["Soup", "汤"])
    assert chosen.of("汤 or soup, redis") == {"soup", "汤"}
    assert facts_version(chosen) != facts_version(KEYWORDS)


@pytest.mark.parametrize(
    ("turns", "solved"),
    [
        ([Turn("user", "How do I open a pool?"), ANSWER, Turn("user", "thanks!")], True),
        ([Turn("user", "连接池为什么报错"), Turn("assistant", "长" * 201), Turn("user", "明白了")], True),
        ([Turn("user", "How do I open a pool?"), Turn("assistant", "长" * 200), Turn("user", "thanks")], False),
        ([ANSWER, Turn("user", "How do I open a pool?"), Turn("user", "thanks")], False),
        ([Turn("user", "thanks"), ANSWER, Turn("user", "How do I open a pool?")], False),
        ([Turn("user", "How? thanks"), ANSWER], False),
        ([Turn("user", "Please open a pool"), ANSWER, Turn("user", "thanks")], False),
        ([Turn("user", "an error"), ANSWER, Turn("user", "还是不明白")], False),
        ([Turn("user", "an error"), ANSWER, Turn("user", "it never works")], False),
        ([Turn("user", "an error"), Turn("user", "here"), ANSWER, Turn("user", "hm"), Turn("user", "Got it")], True),
        ([Turn(None, "How?"), Turn(None, "```x```"), Turn(None, "thanks")], False),
        ([], False),
    ],
)  # fmt: skip
def test_solved_is_a_question_then_an_answer_then_a_thank_you(turns: list[Turn], solved: bool) -> None:
    assert is_solved(turns) is solved


@pytest.mark.parametrize(
    "text",
    ["it isn't solved", "it isn’t solved yet", "I haven't fixed it", "thanks but it is still broken", "not yet solved",
     "thanks, I don't think it works", "still not working", "Thanks, it still fails", "it never worked",
     "Thanks, it doesn't make sense", "thanks, I still get the error", "cant get it fixed, thanks",
     "Thanks, still an exception", "Thanks, still no luck",
     "我没有明白", "不太明白", "没搞定", "谢谢，还没解决了", "还是没有完全弄明白", "没看懂了", "谢谢，还是报错",
     "谢谢，还是不行"],
)  # fmt: skip
def test_a_confirmation_that_is_denied_is_none(text: str) -> None:
    assert not is_solved([Turn("user", "How do I open a pool?"), ANSWER, Turn("user", text)])


@pytest.mark.parametrize(
    "text",
    ["not bad, it works", "no errors, thanks", "it doesn't fail anymore, solved", "still here? thanks",
     "it still works", "I didn't know that, makes sense", "Thanks, that is not needed", "No longer broken, thanks",
     "Thanks, still a great tool", "没有问题了，谢谢", "没问题，搞定", "不报错了，可以了", "没想到这么简单，明白了",
     "不用了，搞定了", "不错，懂了", "还是你厉害，解决了"],
)  # fmt: skip
def test_a_denial_of_something_else_leaves_the_confirmation(text: str) -> None:
    assert is_solved([Turn("user", "How do I open a pool?"), ANSWER, Turn("user", text)])


@pytest.mark.parametrize(
    "text",
    ["as we discussed before, the pool", "Last time you used a pool", "run that code again", "之前讨论过的连接池",
     "上次提到的方案", "那段代码有问题", "in our previous conversation", "we talked about the pool yesterday"],
)  # fmt: skip
def test_phrases_that_speak_of_an_earlier_session(text: str) -> None:
    assert speaks_of_earlier([Turn("user", text)])


@pytest.mark.parametrize("text", ["the last timeout", "这段代码有问题", "code that works", "discuss this", "以前"])
def test_phrases_that_do_not(text: str) -> None:
    assert not speaks_of_earlier([Turn("user", text)])


def test_key_phrases_are_what_comes_up_often_and_is_long_function_words_are_none() -> None:
    text = "the connectionPool of the app; connectionPool.open timed out, 连接池的超时怎么解决 连接池"
    found = key_phrases(text)
    assert found[0] == "connectionpool"
    assert "连接池" in found or "连接" in found
    assert not {"the", "of", "的", "怎么"} & set(found)


def test_key_phrases_are_at_most_30_and_the_same_whatever_the_order_of_the_messages() -> None:
    texts = [f"subject{letter} matter{letter}" for letter in "abcdefghijklmnopqrst"]
    found = key_phrases("\n".join(texts))
    assert len(found) == MAX_PHRASES
    assert found == key_phrases("\n".join(reversed(texts)))


def test_facts_count_each_keyword_once_and_every_message() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    turns = [Turn("user", "redis and Redis, celery"), Turn("assistant", "redis 缓存")]
    facts = facts_of("s", turns, started_at=moment, last_active=moment, vocabulary=KEYWORDS)
    assert (facts.messages, facts.keywords, facts.solved, facts.explicit) == (2, 3, False, False)


def test_function_words_of_chinese_are_blanked_and_words_that_contain_them_are_not() -> None:
    assert searchable(["我们的渲染器怎么配置"]) == "   渲染器  配置"
    assert searchable(["了解目的"]) == "了解目的"
    assert searchable(["plain English"]) == "plain English"
