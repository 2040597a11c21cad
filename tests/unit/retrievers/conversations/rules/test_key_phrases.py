"""Key phrases of a session."""

from querymill_workers.retrievers.conversations.rules.key_phrases import MAX_PHRASES, key_phrases


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
