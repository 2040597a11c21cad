"""What `messages` must find however it is asked, at the defaults."""

import pytest

from tests.quality.floors.messages import ANSWERS, CHANNEL, EMPTY, QUESTIONS, found, lines_of

pytestmark = pytest.mark.nightly

#: How people ask for a message. None of these may change what is found.
FRAMES = (
    "What did anyone say about {}?", "did anyone mention {}", "who talked about {}", "messages about {}",
    "有没有人提到过 {}",
)  # fmt: skip


@pytest.mark.parametrize("frame", FRAMES)
def test_how_a_message_is_asked_for_does_not_matter(frame: str) -> None:
    for session_id, query, _ in QUESTIONS:
        assert found(frame.format(query), session_id=session_id) == found(query, session_id=session_id)


@pytest.mark.parametrize("query", EMPTY)
def test_a_question_that_says_nothing_finds_nothing(query: str) -> None:
    assert found(query) == []


@pytest.mark.parametrize(("place", "answers"), ANSWERS)
def test_direct_answers_are_first_if_they_are_asked_for(place: int, answers: set[int]) -> None:
    asked = {"session_id": "channel", "exclude_message_id": f"channel-{place}", "answers_first": True}
    hits = found(lines_of(CHANNEL)[place][1], **asked)
    assert set(hits[:2]) & {f"channel-{answer}" for answer in answers}
    assert f"channel-{place}" not in hits
