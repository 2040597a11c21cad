"""What a backend that is called back makes of a message."""

from datetime import UTC, datetime
from typing import Any

import pytest

from querymill.webhooks import EndedJob, JobEndedMessage, UntrustedMessage, verify
from querymill_shared.webhooks import signed, written_secret

SECRET, FORMER = b"s" * 32, b"f" * 32
AT = datetime(2026, 11, 27, 12, tzinfo=UTC)
ENDED = EndedJob(job_id="0" * 32, kind="reports", collection="filings", state="done", created_at=AT, ended_at=AT)
MESSAGE = JobEndedMessage.of(ENDED)
BODY = MESSAGE.model_dump_json().encode()
NOW = AT.timestamp()


def read(headers: dict[str, str], body: bytes | str = BODY, **options: Any) -> JobEndedMessage:
    chosen: dict[str, Any] = {"secret": written_secret(SECRET), "now": NOW} | options
    return verify(body, headers, **chosen)


def headers_of(body: bytes = BODY, message_id: str = MESSAGE.id) -> dict[str, str]:
    return signed(message_id, int(NOW), body, [SECRET])


def test_a_message_from_the_mill_is_read() -> None:
    assert read(headers_of()) == MESSAGE
    assert read({name.title(): value for name, value in headers_of().items()}, BODY.decode()) == MESSAGE
    assert read(headers_of(), secret=[written_secret(FORMER), written_secret(SECRET)]).data.state == "done"


def test_a_message_of_a_newer_mill_is_read() -> None:
    newer = BODY.replace(b'"version":1', b'"version":2,"mood":"good"').replace(b'"done"', b'"paused"')
    assert str(read(headers_of(newer), newer).data.state) == "paused"


@pytest.mark.parametrize(
    ("headers", "body", "options", "fault"),
    [
        (headers_of(), BODY.replace(b"filings", b"secrets"), {}, "no signature is right"),
        (headers_of(), BODY, {"secret": written_secret(FORMER)}, "no signature is right"),
        (headers_of(), BODY, {"now": NOW + 301}, "more than 300 s from now"),
        ({}, BODY, {}, "it has no header webhook-id"),
        (headers_of(b"{}"), b"{}", {}, "this release cannot read it"),
        (headers_of(message_id="another"), BODY, {}, "under the id of another"),
    ],
)
def test_what_is_not_to_be_trusted_is_refused(
    headers: dict[str, str], body: bytes, options: dict[str, Any], fault: str
) -> None:
    with pytest.raises(UntrustedMessage, match=fault):
        read(headers, body, **options)


def test_a_secret_that_is_none_is_a_mistake_of_the_program() -> None:
    with pytest.raises(ValueError, match="must be whsec_"):
        read(headers_of(), secret="hunter2")
