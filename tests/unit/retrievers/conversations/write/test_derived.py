"""Preparing a session for storing: facts, revision, index entry."""

from datetime import UTC, datetime
from typing import Any

import pytest

from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.retrievers.conversations.rules.session_facts import facts_version
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.retrievers.conversations.write import derived
from querymill_workers.retrievers.conversations.write.derived import entries_of, facts_in, prepare_session

VOCABULARY = TechnicalKeywords()
SESSION: dict[str, Any] = {
    "session_id": "s", "name": "Pools", "user_name": "Ada", "started_at": "2026-01-01T10:00:00Z", "mood": "calm",
    "messages": [
        {"message_id": "a", "role": "user", "text": "how does redis work?", "created_at": "2026-01-01T12:00:00Z"},
        {"role": "assistant", "text": "```x```"},
        {"role": "user", "text": "thanks", "created_at": "2026-01-01T11:00:00Z"},
    ],
}  # fmt: skip


def session(**changes: Any) -> ChatSession:
    return ChatSession.model_validate(SESSION | changes)


def test_the_facts_of_a_session_come_from_its_messages() -> None:
    facts = facts_in(session(), VOCABULARY)
    assert (facts.session_id, facts.messages, facts.keywords, facts.solved, facts.explicit) == ("s", 3, 1, True, False)
    assert facts.started_at == datetime(2026, 1, 1, 10, tzinfo=UTC)
    assert facts.last_active == datetime(2026, 1, 1, 12, tzinfo=UTC)  # the latest message is not the last


def test_a_session_whose_messages_have_no_times_was_active_when_it_began() -> None:
    facts = facts_in(session(messages=[{"text": "a"}, {"text": "b"}]), VOCABULARY)
    assert facts.last_active == facts.started_at


def test_a_session_is_stored_with_its_facts_and_the_version_of_their_rules() -> None:
    prepared = prepare_session(session(), VOCABULARY)
    assert prepared.session == session()
    assert prepared.facts == facts_in(session(), VOCABULARY)
    assert prepared.facts_version == facts_version(VOCABULARY)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "Ponds"}, {"user_name": None}, {"mood": "glad"}, {"started_at": "2026-01-01T10:00:01Z"},
        {"messages": SESSION["messages"][:2]}, {"messages": SESSION["messages"][::-1]},
        {"messages": [*SESSION["messages"], {"text": ""}]},
        {"messages": [SESSION["messages"][0] | {"role": "human"}, *SESSION["messages"][1:]]},
    ],
    ids=lambda changes: next(iter(changes)),
)  # fmt: skip
def test_every_change_of_a_session_is_a_new_revision(changes: dict[str, Any]) -> None:
    before = prepare_session(session(), VOCABULARY).revision
    assert prepare_session(session(), VOCABULARY).revision == before
    assert prepare_session(session(**changes), VOCABULARY).revision != before


def test_the_same_content_has_a_new_revision_when_indexing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    before = prepare_session(session(), VOCABULARY).revision
    monkeypatch.setattr(derived, "INDEXING_VERSION", derived.INDEXING_VERSION + 1)
    assert prepare_session(session(), VOCABULARY).revision != before


def test_another_vocabulary_gives_other_facts_of_the_same_revision() -> None:
    soup = prepare_session(session(), TechnicalKeywords(["soup"]))
    usual = prepare_session(session(), VOCABULARY)
    assert (soup.facts.keywords, usual.facts.keywords) == (0, 1)
    assert soup.facts_version != usual.facts_version
    assert soup.revision == usual.revision


def test_a_short_session_is_one_entry_with_the_words_of_its_name_and_of_every_message() -> None:
    (entry,) = entries_of(session(messages=[{"text": "ships"}, {"text": "我们的渲染器"}]))
    assert (entry.id, entry.group) == ("s", "s")
    assert entry.text.split() == ["Pools", "ships", "渲染器"]


def test_a_long_session_has_an_entry_for_each_passage() -> None:
    entries = entries_of(session(messages=[{"text": "ships " * 500}, {"text": "soup " * 30}, {"text": "rope " * 30}]))
    assert [(entry.id, entry.group) for entry in entries] == [("s", "s"), ("s\x1f#1", "s")]
    assert [entry.text.split()[-1] for entry in entries] == ["soup", "rope"]
