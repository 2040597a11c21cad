"""Which addresses callbacks may reach."""

import ipaddress

import pytest

from querymill_shared.callback_addresses import is_listed, may_reach, read_address, read_origin


@pytest.mark.parametrize(
    "url",
    [
        "https://user@hooks.example/", "https://hooks.example#part", "https://hooks.example/a b",
        "https://hooks.example\\@evil.example/", "ftp://hooks.example/", "//hooks.example/", "https:///path",
        "https://hooks.example:0/", "https://hooks.example:65536/", "https://[::1/", "https://[zz::1]/",
        "https://hooks.exämple/", "https://hooks.example./", "https://hooks.example/\r\nX: y", "https://-a.example/",
    ],
)  # fmt: skip
def test_an_address_that_two_readers_may_take_differently_is_no_address(url: str) -> None:
    with pytest.raises(ValueError, match="must "):
        read_address(url)


def test_an_address_is_listed_by_its_whole_origin() -> None:
    origins = ["hooks.example", "http://plain.example:8080", "https://[2001:db8::1]:8443"]

    def listed(url: str) -> bool:
        return is_listed(read_address(url), origins)

    assert listed("https://hooks.example/a?b=c")
    assert listed("HTTPS://Hooks.Example:443/")
    assert listed("http://plain.example:8080/x")
    assert listed("https://[2001:db8:0::1]:8443/")
    assert not any(
        map(listed, (
            "http://hooks.example/", "https://hooks.example:8443/", "https://sub.hooks.example/",
            "https://hooks.example.evil.example/", "https://plain.example:8080/", "http://plain.example/",
        ))
    )  # fmt: skip


def test_the_path_of_an_address_is_not_shown() -> None:
    assert read_address("https://hooks.example/secret?token=x").shown == "https://hooks.example:443/…"


def test_an_entry_without_a_scheme_is_https() -> None:
    assert read_origin("Hooks.Example") == read_origin("https://hooks.example/") == "https://hooks.example:443"
    with pytest.raises(ValueError, match="must be hosts such as"):
        read_origin("https://hooks.example/path")


@pytest.mark.parametrize(
    "ip",
    [
        "10.0.0.1", "172.16.0.1", "192.168.1.1", "127.0.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "240.0.0.1", "255.255.255.255", "198.18.0.1", "::", "::1", "fd00::1", "fe80::1", "ff02::1",
        # What stands for an address of IPv4: mapped, NAT64, 6to4, Teredo.
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::",
        "2001:0:4136:e378:8000:63bf:80ff:fffe",
    ],
)  # fmt: skip
def test_a_network_that_is_not_public_is_reached_only_if_it_is_listed(ip: str) -> None:
    address = ipaddress.ip_address(ip)
    assert not may_reach("hooks.example", address, [])


def test_a_listed_network_and_what_is_written_as_an_address_are_reached() -> None:
    inner = ipaddress.ip_address("10.1.2.3")
    assert may_reach("hooks.example", ipaddress.ip_address("93.184.215.14"), [])
    assert may_reach("hooks.example", ipaddress.ip_address("2606:4700::1111"), [])
    assert may_reach("hooks.example", inner, [ipaddress.ip_network("10.1.0.0/16")])
    assert may_reach("hooks.example", ipaddress.ip_address("::ffff:10.1.2.3"), [ipaddress.ip_network("10.1.0.0/16")])
    assert not may_reach("hooks.example", inner, [ipaddress.ip_network("10.2.0.0/16")])
    assert may_reach("10.1.2.3", inner, [])
    assert not may_reach("10.1.2.4", inner, [])
    assert may_reach("localhost", ipaddress.ip_address("::1"), [])
    assert not may_reach("localhost", inner, [])
