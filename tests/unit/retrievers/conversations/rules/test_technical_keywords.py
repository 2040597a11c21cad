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
