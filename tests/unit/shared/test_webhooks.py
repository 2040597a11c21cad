"""Signatures of Standard Webhooks, compared with the implementation in OpenAI's client."""

import base64
import json
import time

import pytest
from openai import InvalidWebhookSignatureError, OpenAI

from querymill_shared.callback_secrets import CallbackSecrets, read_masters, secret_of
from querymill_shared.webhooks import fault_of, read_secret, signed, written_secret

SECRET = b"s" * 24
BODY = json.dumps({"type": "job.done"}).encode()


def their_verdict(headers: dict[str, str], body: bytes, secret: str) -> bool:
    try:
        OpenAI(api_key="none").webhooks.verify_signature(body.decode(), headers, secret=secret)
    except (InvalidWebhookSignatureError, ValueError):
        return False
    return True


def our_verdict(headers: dict[str, str], body: bytes, secret: bytes, *, now: float | None = None) -> str | None:
    return fault_of(headers, body, [secret], now=time.time() if now is None else now, tolerance_s=300)


def test_the_example_of_the_specification_has_its_signature() -> None:
    secret = read_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = signed("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}', [secret])
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_another_implementation_takes_what_is_signed_and_nothing_else() -> None:
    headers = signed("job-1", int(time.time()), BODY, [b"n" * 32, SECRET])
    for secret in (b"n" * 32, SECRET):  # while a secret is rotated, both sign
        assert their_verdict(headers, BODY, written_secret(secret))
        assert our_verdict(headers, BODY, secret) is None
    for changed, body in ((headers, BODY + b" "), (headers | {"webhook-id": "job-2"}, BODY)):
        assert not their_verdict(changed, body, written_secret(SECRET))
        assert our_verdict(changed, body, SECRET) == "no signature is right"
    assert not their_verdict(headers, BODY, written_secret(b"o" * 32))


def test_what_is_old_or_malformed_is_not_trusted() -> None:
    headers = signed("job-1", 1_000, BODY, [SECRET])
    assert our_verdict(headers, BODY, SECRET, now=1_299) is None
    assert our_verdict({name.title(): value for name, value in headers.items()}, BODY, SECRET, now=1_000) is None
    assert our_verdict(headers, BODY, SECRET, now=1_301) == "webhook-timestamp is more than 300 s from now"
    assert our_verdict(headers, BODY, SECRET, now=0) == "webhook-timestamp is more than 300 s from now"
    for changed, fault in (
        ({"webhook-id": ""}, "it has no header webhook-id"),
        ({"webhook-timestamp": "soon"}, "webhook-timestamp is no number of seconds"),
        ({"webhook-timestamp": "9" * 400}, "webhook-timestamp is no number of seconds"),
        ({"webhook-signature": "v1,x v1a,y é"}, "no signature is right"),
    ):
        assert our_verdict(headers | changed, BODY, SECRET, now=1_000) == fault


@pytest.mark.parametrize("written", ["", "plain", "whsec_", "whsec_c2hvcnQ=", "whsec_" + "A" * 92, "whsec_" + "ä" * 40])
def test_a_secret_that_breaks_a_rule_is_refused_and_not_repeated(written: str) -> None:
    with pytest.raises(ValueError, match=r"^must be whsec_ and 24 to 64 bytes in base64$"):
        read_secret(written)


def test_a_key_that_is_rotated_has_two_secrets_for_a_while() -> None:
    first = CallbackSecrets().rotated(100.0, grace_s=60)
    second = first.rotated(200.0, grace_s=60)
    third = second.rotated(210.0, grace_s=60)
    assert (first.valid(100.0), second.valid(259.0), second.valid(261.0)) == ([1], [2, 1], [2])
    assert (third.valid(215.0), third.valid(265.0), third.valid(271.0)) == ([3, 2, 1], [3, 2], [3])
    assert first.rotated(200.0, grace_s=0).valid(200.0) == [2]


def test_each_key_and_number_has_a_secret_of_its_own() -> None:
    found = {secret_of(master, key, number) for master in (b"a" * 32, b"b" * 32) for key in "xy" for number in (1, 2)}
    assert len(found) == 8
    assert {len(secret) for secret in found} == {32}


def test_the_secret_of_the_mill_may_be_two() -> None:
    one, two = written_secret(b"1" * 32), written_secret(b"2" * 32)
    assert read_masters(f"{one} {two}") == [b"1" * 32, b"2" * 32]
    assert read_masters("") == []
    with pytest.raises(ValueError, match="must be one secret, or two"):
        read_masters(" ".join([one, two, base64.b64encode(b"3" * 32).decode()]))
