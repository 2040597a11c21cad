"""The English words of a Chinese request."""

import pytest

from querymill_workers.lexicon import thesauri
from querymill_workers.retrievers.modules.rules.chinese import english_words, with_english


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
    thesaurus = thesauri()["modules"]
    assert english_words(text, thesaurus) == words
    assert with_english(text, thesaurus) == " ".join([text, *words])
