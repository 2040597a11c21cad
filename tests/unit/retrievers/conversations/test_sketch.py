"""A sketch that grows message by message gives the facts that the whole session gives."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.contracts.sessions import ChatMessage
from querymill_workers.retrievers.conversations.rules.session_facts import facts_of
from querymill_workers.retrievers.conversations.rules.session_signs import Turn
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.retrievers.conversations.rules.text import searchable
from querymill_workers.retrievers.conversations.sketch import (
    Sketch,
    extend_sketch,
    facts_from,
    signs_in,
    sketch_of,
)
from querymill_workers.text.words import words

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
VOCABULARY = TechnicalKeywords()
PHRASES = [
    "How do I open a connectionPool?", "```pool.open()```", "thanks, that works", "it still does not work",
    "as discussed last time", "redis and postgres", "我们的连接池超时了", "如何优化数据库", "谢谢", "ab 12 c3", "",
]  # fmt: skip
texts = st.lists(st.sampled_from(PHRASES), min_size=1, max_size=3).map(" ".join) | st.text("ab中文 .\n'", max_size=12)
messages_ = st.lists(
    st.builds(ChatMessage, role=st.sampled_from([None, "user", "assistant", "human"]), text=texts), max_size=8
)


@given(messages_, messages_)
def test_facts_from_a_sketch_are_those_of_the_messages(whole: list[ChatMessage], live: list[ChatMessage]) -> None:
    sketch = sketch_of(whole, live[:1], VOCABULARY)
    for message in live[1:]:
        sketch = Sketch.of_json(extend_sketch(sketch, [message], VOCABULARY).to_json())
    found = facts_from("s", sketch, [int(signs_in(one)) for one in live], started_at=MOMENT, last_active=MOMENT)
    turns = [Turn(message.role, message.text) for message in (*whole, *live)]
    assert found == facts_of("s", turns, started_at=MOMENT, last_active=MOMENT, vocabulary=VOCABULARY)


@given(texts, texts)
def test_the_words_of_two_messages_are_those_of_each(first: str, second: str) -> None:
    assert words(searchable([first, second])) == words(searchable([first])) + words(searchable([second]))
