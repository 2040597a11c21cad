"""The text that is indexed and searched."""

from querymill_workers.retrievers.conversations.rules.text import searchable


def test_function_words_of_chinese_are_blanked_and_words_that_contain_them_are_not() -> None:
    assert searchable(["我们的渲染器怎么配置"]) == "   渲染器  配置"
    assert searchable(["了解目的"]) == "了解目的"
    assert searchable(["plain English"]) == "plain English"
