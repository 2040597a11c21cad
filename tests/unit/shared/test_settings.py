import pytest
from pydantic import ValidationError

from querymill.doctor import masked
from querymill_shared.settings import Settings


def test_the_broker_is_the_boards_server_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://r:1/0")
    assert Settings().broker_url == "redis://r:1/0"
    monkeypatch.setenv("CELERY_BROKER_URL", "amqp://m")
    assert Settings().broker_url == "amqp://m"


def test_embeddings_come_from_the_chat_provider_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://a/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert Settings().embedding_endpoint == ("http://a/v1", "k")
    monkeypatch.setenv("EMBEDDING_BASE_URL", "http://b/v1")
    assert Settings().embedding_endpoint == ("http://b/v1", "k")


def test_a_lease_longer_than_ten_seconds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUERYMILL_LEASE_S", "60")
    with pytest.raises(ValidationError, match="querymill_lease_s"):
        Settings()


def test_secrets_do_not_show_in_the_settings() -> None:
    settings = Settings.model_validate({"openai_api_key": "sk-very-secret", "database_url": "postgresql://u:pw@h/d"})
    assert "very-secret" not in repr(settings)
    assert "pw@" not in repr(settings)


def test_a_password_in_a_url_is_masked() -> None:
    assert masked("postgresql://u:pw@h:1/d") == "postgresql://u:***@h:1/d"
    assert masked("redis://h:1/0") == "redis://h:1/0"
