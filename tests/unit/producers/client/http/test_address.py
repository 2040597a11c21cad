"""Which addresses and keys a client over HTTP takes."""

import pytest

from querymill import AsyncQuerymill, InvalidRequest, Querymill

KEY = "qm_hunter2"


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("mill.example.org", "must be the address of a gateway"),
        ("ftp://mill.example.org", "must be the address of a gateway"),
        ("https://", "must be the address of a gateway"),
        ("https://mill:99999", "must be the address of a gateway"),
        ("https://[::1", "must be the address of a gateway"),
        (f"https://user:{KEY}@mill", "give the key as api_key"),
        (f"https://mill/?key={KEY}", "no ? and no #"),
    ],
)
def test_an_address_that_cannot_be_called_is_refused(url: str, rule: str) -> None:
    for client in (Querymill, AsyncQuerymill):
        with pytest.raises(InvalidRequest) as refused:
            client(url=url)
        assert str(refused.value).startswith("url: ")
        assert rule in str(refused.value)
        assert KEY not in f"{refused.value}{refused.value.detail}"


@pytest.mark.parametrize("key", ["", "two words", "a\r\nX-Injected: 1", "k" * 501, "ключ"])
def test_a_key_that_no_header_can_carry_is_refused(key: str) -> None:
    with pytest.raises(InvalidRequest, match="api_key: must be 1 to 500 visible characters"):
        Querymill(url="https://mill", api_key=key)


def test_one_way_to_the_jobs_is_chosen() -> None:
    with pytest.raises(InvalidRequest, match="url: must not be given beside redis_url"):
        Querymill(url="https://mill", redis_url="redis://here")
    with pytest.raises(InvalidRequest, match="api_key: needs the url of a gateway"):
        Querymill(api_key=KEY)


def test_a_client_shows_where_it_leads_and_no_key() -> None:
    with Querymill(url="https://mill.example.org/of/us/", api_key=KEY) as mill:
        assert repr(mill) == "<Querymill: https://mill.example.org/of/us>"
        assert KEY not in repr(vars(mill._transport)["_asks"]._exchange.address)
    assert repr(Querymill(redis_url="redis://:hunter2@board:6379/0")) == "<Querymill: redis://:***@board:6379/0>"


def test_a_proxy_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "gopher://proxy:70")
    with (
        Querymill(url="https://mill.example.org") as mill,
        pytest.raises(InvalidRequest, match="HTTPS_PROXY: must begin"),
    ):
        mill.collections()
