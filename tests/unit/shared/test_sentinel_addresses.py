"""Addresses of Sentinels, as `Settings`, Celery and other libraries write them."""

import pytest

from querymill_shared.sentinel_addresses import SentinelAddress, for_kombu, read_sentinel
from querymill_shared.settings import Settings
from querymill_shared.urls import has_alternates, is_redis

A, B = ("a", 26379), ("b", 1)
READ = [
    ("sentinel://a", SentinelAddress((A,), "mymaster", "redis://primary/0", False)),
    ("sentinel://a:26379,b:1/board", SentinelAddress((A, B), "board", "redis://primary/0", False)),
    ("sentinel://a:26379,b:1/board/3", SentinelAddress((A, B), "board", "redis://primary/3", False)),
    ("sentinel://a/3", SentinelAddress((A,), "mymaster", "redis://primary/3", False)),
    ("sentinel://a;sentinel://b:1/2?master_name=x", SentinelAddress((A, B), "x", "redis://primary/2", False)),
    ("sentinel://:p%2Fw@a;sentinel://b:1", SentinelAddress((A, B), "mymaster", "redis://:p%2Fw@primary/0", False)),
    ("redis+sentinel://u:p@a,b:1/m/0", SentinelAddress((A, B), "m", "redis://u:p@primary/0", False)),
    ("sentinels://[::1]:7/m", SentinelAddress((("::1", 7),), "m", "rediss://primary/0", True)),
    ("rediss+sentinel://[2001:db8::1]/m", SentinelAddress((("2001:db8::1", 26379),), "m", "rediss://primary/0", True)),
    (
        "sentinel://a/m?sentinel_password=s&sentinel_username=u&socket_timeout=3",
        SentinelAddress((A,), "m", "redis://primary/0?socket_timeout=3", False, "u", "s"),
    ),
]


@pytest.mark.parametrize(("url", "read"), READ)
def test_an_address_is_read_in_each_way_that_it_is_written(url: str, read: SentinelAddress) -> None:
    assert read_sentinel(url) == read
    assert read_sentinel(for_kombu(url)) == read
    assert is_redis(url)
    assert not has_alternates(url)
    assert Settings(redis_url=url, celery_broker_url=url).broker_url == url


@pytest.mark.parametrize(
    "url",
    [
        "sentinel://", "sentinel://:HUNTER/x@a/m", "sentinel://a:x/m", "sentinel://a:99999/m", "sentinel://a,/m",
        "sentinel://a;redis://b/0", "sentinel://a;sentinels://b/0", "sentinel://::1/m", "sentinel://a/m?db=x",
    ],
)  # fmt: skip
@pytest.mark.parametrize("setting", ["redis_url", "celery_broker_url"])
def test_what_is_none_is_refused_by_its_setting(url: str, setting: str) -> None:
    with pytest.raises(ValueError, match=f"{setting}\n") as refused:
        Settings.model_validate({setting: url})
    assert "HUNTER" not in str(refused.value)


@pytest.mark.parametrize("query", ["?colour=red", "?ssl_ca_certs=/ca.crt"])
def test_a_parameter_that_the_server_cannot_take_is_refused(query: str) -> None:
    with pytest.raises(ValueError, match="must have only parameters"):
        Settings(redis_url=f"sentinel://a/m{query}")


def test_an_address_is_shown_without_its_secrets() -> None:
    url = "sentinel://:HUNTER@a:1,b:2/m/0?sentinel_password=HUNTER&master_name=m"
    shown = Settings(redis_url=url, celery_broker_url=url.replace("sentinel:", "sentinels:"))
    assert shown.shown("redis_url") == "sentinel://:***@a:1,b:2/m/0?sentinel_password=***&master_name=m"
    assert "HUNTER" not in shown.shown("celery_broker_url") + shown.mask_secrets(f"cannot reach {url}") + repr(shown)
