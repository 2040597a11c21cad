"""Key phrases of a session."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.conversations.rules.key_phrases import MAX_PHRASES, key_phrases, phrase_number


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


def test_the_order_by_hand() -> None:
    # (1 + ln tf) × √length of the stems: (1 + ln 3) √7 = 5.55, (1 + ln 2) √9 = 5.08, √7 = 2.65, √3 = 1.73
    text = "poolsize poolsize 连接池 timeout tar 连接池 poolsize"
    assert key_phrases(text) == ["poolsiz", "连接池", "timeout", "tar"]


def test_a_word_counts_as_at_most_12_letters_and_equal_phrases_are_in_their_own_order() -> None:
    assert key_phrases("zzzzzzzzzzzzzz aaaaaaaaaaaa mmmmmmmmmmmmmmmmmm") == [
        "aaaaaaaaaaaa", "mmmmmmmmmmmmmmmmmm", "zzzzzzzzzzzzzz",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "a of it", "1.5 2024 10", "的 了", "ab"])
def test_short_words_numbers_and_function_words_are_no_phrases(text: str) -> None:
    assert key_phrases(text) == []


def test_a_phrase_has_the_same_number_everywhere() -> None:
    # The first 63 bits of its SHA-256: stored numbers must mean the same in every release and on every machine.
    assert phrase_number("connectionpool") == phrase_number("connectionpool")
    assert phrase_number("connectionpool") != phrase_number("连接池")
    assert phrase_number("abc") == 0xBA7816BF8F01CFEA >> 1


@given(st.text(alphabet="abz 连接池的.1\n", max_size=80))
def test_no_phrase_comes_twice_and_more_of_the_same_changes_no_choice(text: str) -> None:
    found = key_phrases(text)
    assert len(found) == len(set(found)) <= MAX_PHRASES
    assert set(key_phrases(f"{text}\n{text}")) == set(found)
