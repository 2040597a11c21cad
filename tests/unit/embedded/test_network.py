import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_embedded import network
from querymill_embedded.errors import StackError
from querymill_embedded.network import free_ports, is_free


def test_ports_are_distinct_and_free_and_stay_where_they_were_if_they_can() -> None:
    first = free_ports(["a", "b", "c"], preferred={})
    assert len(set(first.values())) == 3
    assert all(is_free(port) for port in first.values())
    assert free_ports(["b", "c", "a"], preferred=first) == first
    assert len(set(free_ports(["x", "y"], preferred={"x": first["a"], "y": first["a"]}).values())) == 2


def test_a_port_at_which_somebody_listens_is_not_given_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        assert not is_free(taken)
        assert free_ports(["a"], preferred={"a": taken})["a"] != taken


def test_a_port_without_a_listener_is_free_again_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            connection, _ = server.accept()
            connection.close()
            client.recv(1)
    assert is_free(port)


@given(st.lists(st.text("abc", min_size=1, max_size=2), max_size=8), st.lists(st.integers(20_000, 20_003), max_size=8))
def test_every_name_gets_one_port_of_the_range_whatever_is_preferred(names: list[str], wanted: list[int]) -> None:
    chosen = free_ports(names, preferred=dict(zip(names, wanted, strict=False)))
    assert list(chosen) == list(dict.fromkeys(names))
    assert len(set(chosen.values())) == len(chosen)
    assert all(20_000 <= port < 30_000 for port in chosen.values())


def test_a_range_without_a_free_port_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        monkeypatch.setattr(network, "_CANDIDATES", range(taken, taken + 1))
        with pytest.raises(StackError, match=f"no free port on 127.0.0.1 between {taken} and {taken}"):
            free_ports(["a"], preferred={})


def test_the_last_free_port_is_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    (only,) = free_ports(["a"], preferred={}).values()
    monkeypatch.setattr(network, "_CANDIDATES", range(only, only + 1))
    assert free_ports(["a"], preferred={}) == {"a": only}
    with pytest.raises(StackError, match="no free port"):
        free_ports(["a", "b"], preferred={})
