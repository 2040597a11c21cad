"""Which proxy leads to an address, by the environment's settings as people write them."""

import importlib.util

import pytest

from querymill_shared.proxies import Proxy, is_loopback, proxies, proxy_of

ELSEWHERE = "https://api.provider.example/v1"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "request_method"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


LOOPBACK = [
    "localhost", "LocalHost", "localhost.", "models.localhost", "127.0.0.1", "127.8.9.10", "127.1", "2130706433", "::1",
    "0.0.0.0", "::", "::ffff:127.0.0.1", "ip6-localhost", "::1%lo",
]  # fmt: skip


@pytest.mark.parametrize("host", LOOPBACK)
def test_this_machine_is_never_asked_through_a_proxy(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "socks5://127.0.0.1:9")
    assert is_loopback(host)
    shown = f"[{host.partition('%')[0]}]" if ":" in host else host
    for scheme in ("http", "https"):
        assert proxy_of(f"{scheme}://{shown}:8000/v1") is None


@pytest.mark.parametrize(
    "host", ["localhost.example", "128.0.0.1", "10.0.0.1", "mylocalhost", "127.example", "1.2.3.4.5"]
)
def test_other_hosts_are_elsewhere(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://proxy:3128")
    assert proxy_of(f"http://{host}/v1") == Proxy("ALL_PROXY", "http://proxy:3128")


def test_the_proxy_of_the_scheme_goes_before_the_one_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://all:1080")
    monkeypatch.setenv("https_proxy", "secure:3128")
    assert proxy_of(ELSEWHERE) == Proxy("https_proxy", "http://secure:3128")
    assert proxy_of("http://api.provider.example") == Proxy("ALL_PROXY", "socks5://all:1080")
    assert proxies() == [Proxy("https_proxy", "http://secure:3128"), Proxy("ALL_PROXY", "socks5://all:1080")]


def test_lower_case_goes_before_upper_case_and_an_empty_one_unsets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://upper:1")
    monkeypatch.setenv("https_proxy", "http://lower:2")
    assert proxy_of(ELSEWHERE) == Proxy("https_proxy", "http://lower:2")
    monkeypatch.setenv("https_proxy", "")
    assert proxy_of(ELSEWHERE) is None


EXEMPT = [
    "*", "provider.example", ".provider.example", "*.provider.example", "api.provider.example", "API.Provider.Example",
    "other.example, provider.example", "other.example provider.example", "api.provider.example:443",
    "https://api.provider.example", "https://provider.example/",
]  # fmt: skip


@pytest.mark.parametrize("entry", EXEMPT)
def test_an_exempt_host_is_asked_directly(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", entry)
    assert proxy_of(ELSEWHERE) is None


@pytest.mark.parametrize(
    "entry",
    [
        "",
        ",",
        "example.com",
        "der.example",
        "api.provider.example:80",
        "http://provider.example",
        "10.0.0.0/8",
        "[",
        "a/b",
    ],
)
def test_another_entry_exempts_nothing(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", entry)
    assert proxy_of(ELSEWHERE) == Proxy("HTTPS_PROXY", "http://proxy:3128")


@pytest.mark.parametrize(
    ("url", "entry"),
    [
        ("http://10.1.2.3:8000/v1", "10.0.0.0/8"),
        ("http://10.1.2.3/v1", "10.1.2.3"),
        ("http://10.1.2.3:8000/v1", "10.1.2.3:8000"),
        ("http://[fd00::7]:8000/v1", "fd00::/8"),
        ("http://[fd00::7]:8000/v1", "[fd00::7]"),
        ("http://[fd00::7]:8000/v1", "[fd00::7]:8000"),
    ],
)
def test_an_exempt_address_or_network_is_asked_directly(url: str, entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", f"x.example,{entry}")
    assert proxy_of(url) is None
    assert proxy_of("http://11.1.2.3/v1") is not None


@pytest.mark.parametrize("url", ["", "nonsense", "http://", "http://[::1", "http://host:port/"])
def test_what_is_no_url_has_no_proxy(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://proxy:3128")
    assert proxy_of(url) is None


UNUSABLE = [
    ("socks4://proxy:1080", "must begin with http://, https://, socks5:// or socks5h:// (socks4://); write socks5://"),
    ("socks://proxy:1080", "(socks://); write socks5:// if the proxy speaks it"),
    ("ftp://proxy:21", "(ftp://)"),
    ("http://proxy:99999", "must be http://host:port with a port from 1 to 65535"),
    ("http://proxy:0", "with a port from 1 to 65535"),
    ("http://proxy:port", "with a port from 1 to 65535"),
    ("https://", "must be https://host:port"),
    ("http://a b:1", "must be http://host:port"),
    ("http://[::1", "must be http://host:port"),
]


@pytest.mark.parametrize(("url", "said"), UNUSABLE)
def test_why_a_proxy_cannot_be_used_is_said_with_the_remedy(url: str, said: str) -> None:
    fault = Proxy("ALL_PROXY", url).fault()
    assert fault is not None
    assert fault.startswith("ALL_PROXY: ")
    assert said in fault


@pytest.mark.parametrize("scheme", ["http", "https", "socks5", "socks5h", "SOCKS5"])
def test_what_the_client_speaks_has_no_fault(scheme: str) -> None:
    assert Proxy("ALL_PROXY", f"{scheme}://user:HUNTER2@proxy").fault() is None
    assert "HUNTER2" not in Proxy("ALL_PROXY", f"{scheme}://user:HUNTER2@proxy").shown


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    said = Proxy("all_proxy", "socks5h://proxy:1080").fault()
    assert said == "all_proxy: socks5h:// needs a package that is not installed; run pip install socksio"
    assert Proxy("all_proxy", "http://proxy:1080").fault() is None


def test_a_password_shows_in_no_fault() -> None:
    assert "HUNTER2" not in str(Proxy("ALL_PROXY", "http://user:HUNTER2@proxy:99999").fault())
