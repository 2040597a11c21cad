"""The facts of a session, from its own messages alone."""

from datetime import UTC, datetime

from querymill_workers.retrievers.conversations.rules.session_facts import facts_of, facts_version
from querymill_workers.retrievers.conversations.rules.session_signs import Turn
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords

KEYWORDS = TechnicalKeywords()


def test_the_vocabulary_is_the_users_choice_and_part_of_the_facts_version() -> None:
    chosen = TechnicalKeywords(["Soup", "汤"])
    assert chosen.of("汤 or soup, redis") == {"soup", "汤"}
    assert facts_version(chosen) != facts_version(KEYWORDS)


def test_facts_count_each_keyword_once_and_every_message() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    turns = [Turn("user", "redis and Redis, celery"), Turn("assistant", "redis 缓存")]
    facts = facts_of("s", turns, started_at=moment, last_active=moment, vocabulary=KEYWORDS)
    assert (facts.messages, facts.keywords, facts.solved, facts.explicit) == (2, 3, False, False)
