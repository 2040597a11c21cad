"""The vocabulary of technical terms."""

import pytest

from querymill_workers.retrievers.conversations.rules.technical_keywords import TECHNICAL_KEYWORDS, TechnicalKeywords

KEYWORDS = TechnicalKeywords()


def test_the_vocabulary_has_at_least_60_terms_of_both_languages_each_once() -> None:
    assert len(KEYWORDS.terms) == len(TECHNICAL_KEYWORDS) >= 60
    chinese = [term for term in KEYWORDS.terms if not term.isascii()]
    assert 30 < len(chinese) < len(KEYWORDS.terms) - 30


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Google it, or go on", set()),
        ("gopher google ago", set()),
        ("用redis缓存数据库查询", {"redis", "缓存", "数据库", "查询"}),
        ("C++ and c# on Node.js", {"c++", "c#", "node", "node.js"}),
        ("REDIS Redis redis", {"redis"}),
        ("go-redis", {"go", "redis"}),
        ("", set()),
    ],
)
def test_latin_terms_are_whole_words_and_chinese_ones_substrings(text: str, found: set[str]) -> None:
    assert KEYWORDS.of(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("errors functions threads queries", {"error", "function", "thread", "query"}),
        ("classes and indices of a database", {"class", "index", "database"}),
        ("let's go and have a rest in spring, then process the test class", set()),
        ("the go test of the redis cache", {"go", "test", "redis", "cache"}),
        ("run `go test`", {"go", "test"}),
        ("go to lunch\nredis", {"redis"}),
        ("http 错误 on a node: asyncio and nosql on gcp", {"http", "错误", "node", "asyncio", "nosql", "gcp"}),
        ("优化测试，mvvm 的 architecture 和 concurrent optimization",
         {"优化", "测试", "mvvm", "architecture", "concurrent", "optimization"}),
    ],
)  # fmt: skip
def test_plurals_count_and_everyday_words_only_beside_code_or_another_term(text: str, found: set[str]) -> None:
    assert KEYWORDS.of(text) == found


def test_the_terms_of_two_texts_are_those_of_both() -> None:
    one, other = "go to `main`, please", "the rest is in postgres"
    assert KEYWORDS.of(f"{one}\n{other}") == KEYWORDS.of(one) | KEYWORDS.of(other) == {"go", "rest", "postgres"}
