"""Keys as values: what they accept, and how they are written."""

import pytest
from pydantic import ValidationError

from querymill.keys import LOOPBACK_CALLER, NOBODY, ApiKey, Scope, Secret, _digest, parts_of

SECRET = "x" * 43


def key(**fields: object) -> ApiKey:
    given = {"id": "0" * 12, "name": "web", "scopes": {"search"}, "collections": {"mine"}, "created": 0.0} | fields
    return ApiKey.model_validate(given)


def test_a_key_is_written_with_its_id_and_its_secret() -> None:
    assert parts_of(f"qm_{'0' * 12}_{SECRET}") == ("0" * 12, SECRET)
    for wrong in ("", "qm_", f"qm_{'0' * 11}_{SECRET}", f"qm_{'0' * 12}_{SECRET}x", f"qm_{'G' * 12}_{SECRET}"):
        assert parts_of(wrong) is None


def test_a_rotated_secret_is_accepted_until_its_time() -> None:
    rotated = key(secrets=(Secret(digest=_digest("new")), Secret(digest=_digest("old"), until=100.0)))
    assert rotated.accepts("new", 1_000.0)
    assert rotated.accepts("old", 99.0)
    assert not rotated.accepts("old", 100.0)
    assert not rotated.model_copy(update={"revoked": 1.0}).accepts("new", 2.0)


def test_a_key_is_valid_until_it_expires() -> None:
    ends = key(expires=100.0, secrets=(Secret(digest=_digest("s"), until=100.0),))
    assert ends.accepts("s", 99.0)
    assert not ends.accepts("s", 100.0)
    assert [ends.is_expired(now) for now in (99.0, 100.0)] == [False, True]
    assert ends.was("s")
    assert not ends.was("t")
    assert not key().is_expired(1e12)


def test_nobody_accepts_nothing() -> None:
    assert not NOBODY.accepts("", 0.0)
    assert not LOOPBACK_CALLER.accepts("", 0.0)


def test_a_key_sees_its_collections() -> None:
    assert key().sees("mine")
    assert not key().sees("theirs")
    assert key(collections={"*"}).sees("theirs")
    assert LOOPBACK_CALLER.scopes == frozenset(Scope)


@pytest.mark.parametrize(
    "wrong",
    [{"scopes": ()}, {"scopes": ("fly",)}, {"collections": ()}, {"collections": ("a b",)}, {"name": "a\x1b[2J"}],
)
def test_what_no_key_can_be(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        key(**wrong)
