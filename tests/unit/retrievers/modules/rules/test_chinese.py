"""The English words of a Chinese request."""

import pytest

from querymill_workers.retrievers.modules.rules.chinese import WORDS, english_words, with_english


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("设置背景颜色为蓝色", ["background", "color", "blue"]),
        ("如何添加光照和阴影", ["light", "lighting", "shadow"]),
        ("环境光", ["ambient", "light"]),
        ("用正则表达式搜索文件", ["regular expression", "regex", "regexp", "search", "file"]),
        ("a blue background", []),
        ("你好", []),
    ],
)
def test_the_english_words_of_what_is_said_in_chinese_are_added(text: str, words: list[str]) -> None:
    assert english_words(text) == words
    assert with_english(text) == " ".join([text, *words])


def test_every_line_of_the_table_has_words() -> None:
    assert all(words and all(word.isascii() for word in words) for words in WORDS.values())
