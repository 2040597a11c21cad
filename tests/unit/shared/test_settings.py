from collections.abc import Callable

import pytest
from pydantic import ValidationError

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


def test_folders_of_documents_are_absolute(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings().querymill_document_folders == []
    monkeypatch.setenv("QUERYMILL_DOCUMENT_FOLDERS", '["/srv/filings"]')
    assert Settings().querymill_document_folders == ["/srv/filings"]
    for relative in ("", "filings", "~/filings"):
        monkeypatch.setenv("QUERYMILL_DOCUMENT_FOLDERS", f'["{relative}"]')
        with pytest.raises(ValidationError, match="must be an absolute path"):
            Settings()


SECRETS = {
    "redis_url": "redis://:HUNTER@cache:6379/0",
    "celery_broker_url": "amqp://guest:HUNTER@mq//",
    "database_url": "host=db password=HUNTER",
    "mongodb_uri": "mongodb://u:HUNTER@m/x",
    "openai_base_url": "https://u:HUNTER@models.example/v1",
    "openai_api_key": "sk-HUNTER",
    "embedding_base_url": "https://models.example/v1?api-key=HUNTER",
    "rerank_base_url": "https://HUNTER@rerank.example",
    "querymill_previous_embedding_base_url": "https://u:HUNTER@former.example",
}


@pytest.mark.parametrize("written", [repr, str, lambda settings: "".join(map(str, settings.__rich_repr__()))])
def test_secrets_do_not_show_in_the_settings(written: Callable[[Settings], str]) -> None:
    shown = written(Settings.model_validate(SECRETS))
    assert "HUNTER" not in shown
    assert "redis://:***@cache:6379/0" in shown
    assert "gpt-5-mini" in shown


def test_the_attributes_hold_the_secrets() -> None:
    settings = Settings.model_validate(SECRETS)
    assert settings.redis_url == "redis://:HUNTER@cache:6379/0"
    assert settings.broker_url == "amqp://guest:HUNTER@mq//"


@pytest.mark.parametrize("name", ["redis_url", "database_url", "openai_api_key", "querymill_lease_s"])
def test_a_setting_that_is_refused_is_not_quoted(name: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Settings.model_validate({name: ["HUNTER"]})
    assert "HUNTER" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:6379", "http://cache:6379", "redis://:HUNTER/x@cache", "redis://cache:99999", "redis://c?db=x", ""],
)
def test_a_board_that_is_not_named_by_a_redis_url_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="redis://, rediss:// or unix://") as refused:
        Settings.model_validate({"redis_url": url})
    assert [error["loc"] for error in refused.value.errors()] == [("redis_url",)]
    assert "HUNTER" not in str(refused.value)


def test_a_broker_whose_password_would_be_read_as_a_port_is_refused() -> None:
    with pytest.raises(ValidationError, match="percent-encoded") as refused:
        Settings.model_validate({"celery_broker_url": "amqp://guest:HUNTER/x@mq//"})
    assert "HUNTER" not in str(refused.value)
    accepted = "sentinel://:p%2Fw@a:26379;sentinel://b:26379"
    assert Settings.model_validate({"celery_broker_url": accepted}).broker_url == accepted


ERRORS = [
    ("Invalid header value b'Bearer sk-HUNTER\\n'", "Invalid header value b'Bearer sk-***\\n'"),
    ('missing "=" after "HUNTER" in connection info string', 'missing "=" after "***" in connection info string'),
    ("cannot reach redis://:HUNTER@cache:6379/0", "cannot reach redis://:***@cache:6379/0"),
    ("cannot reach cache:6379", "cannot reach cache:6379"),
]


@pytest.mark.parametrize(("error", "shown"), ERRORS)
def test_a_secret_is_hidden_in_an_error_that_quotes_it(error: str, shown: str) -> None:
    assert Settings.model_validate(SECRETS).mask_secrets(error) == shown


def test_a_part_of_a_secret_that_a_driver_took_for_something_else_is_hidden() -> None:
    settings = Settings.model_validate({"database_url": "host=db password=HUN TER"})
    assert settings.mask_secrets('missing "=" after "TER"') == 'missing "=" after "***"'
    settings = Settings.model_validate({"mongodb_uri": "mongodb://u:HUN/TER@m"})
    assert settings.mask_secrets("no port: 'HUN'") == "no port: '***'"
