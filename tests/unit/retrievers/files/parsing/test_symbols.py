from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.files.parsing.symbols import MAX_NAME_CHARS, Gathered
from querymill_workers.retrievers.files.rules.code import Symbol, SymbolRole


def gathered(*symbols: Symbol) -> list[Symbol]:
    found = Gathered()
    for symbol in symbols:
        found.add(symbol)
    return found.listed()


def test_every_definition_stands_alone_and_a_use_is_counted() -> None:
    twice = [Symbol("stir", "definition", "function", line, line) for line in (1, 5)]
    used = [Symbol("stir", "call", "call", line, line) for line in (3, 4)]
    assert gathered(*used, *twice) == [
        twice[0],
        Symbol("stir", "call", "call", 3, 3, times=2),
        twice[1],
    ]


def test_uses_differ_by_their_qualifier() -> None:
    here, there = (Symbol("get", "call", "call", 1, 1, qualifier) for qualifier in ("cache", "store"))
    assert gathered(there, here) == [here, there]


def test_names_that_nobody_searches_are_left_out() -> None:
    long = "x" * (MAX_NAME_CHARS + 1)
    assert gathered(Symbol("", "call", "call", 1, 1), Symbol(long, "call", "call", 1, 1)) == []
    assert gathered(Symbol("x", "call", "call", 1, 1, qualifier=long)) == []
    assert len(gathered(Symbol(long[1:], "definition", "function", 1, 1))) == 1


ROLES: list[SymbolRole] = ["definition", "import", "call", "type"]
SYMBOLS = st.builds(Symbol, st.sampled_from("abc"), st.sampled_from(ROLES), st.just("x"), st.integers(1, 9), st.just(9))


@given(st.lists(SYMBOLS, max_size=30))
def test_no_use_is_lost_and_none_listed_twice(symbols: list[Symbol]) -> None:
    uses = [symbol for symbol in symbols if symbol.role != "definition"]
    listed = gathered(*symbols)
    assert sum(symbol.times for symbol in listed if symbol.role != "definition") == len(uses)
    assert len({(symbol.role, symbol.name) for symbol in listed if symbol.role != "definition"}) == len(
        [symbol for symbol in listed if symbol.role != "definition"]
    )
    assert {symbol for symbol in symbols if symbol.role == "definition"} <= set(listed)
