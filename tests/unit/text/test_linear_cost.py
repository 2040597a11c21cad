"""No rule costs more than its text's length: eight times the text takes about eight times the time, whatever it says.

Times are compared with each other, as processor time of this process, so that neither the machine nor its load matters.
"""

from collections import Counter

import pytest

import querymill
import querymill_histories
import querymill_reading
import querymill_shared
import querymill_workers
from tests.fixtures.hostile_texts import FITS_NOT, STEEPEST, UNITS, LeftOut, Timed, functions_of, steepness

FUNCTIONS = dict(functions_of(querymill_workers, querymill, querymill_histories, querymill_reading, querymill_shared))


def timed(name: str) -> Timed | None:
    try:
        return Timed.of(FUNCTIONS[name])
    except LeftOut:
        return None


ALL = (*UNITS, "".join(UNITS))


@pytest.mark.parametrize(
    ("tail", "units"),
    [
        pytest.param("", ALL, marks=pytest.mark.nightly, id="whole"),
        pytest.param(FITS_NOT, ALL, marks=pytest.mark.nightly, id="cut off"),
        pytest.param(FITS_NOT, ALL[::-3], marks=pytest.mark.nightly, id="cut off, a third of the texts"),
        pytest.param(FITS_NOT, ALL[::-9], id="cut off, a ninth of the texts"),
    ],
)
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if timed(name) is not None])
def test_eight_times_the_text_takes_about_eight_times_as_long(name: str, tail: str, units: tuple[str, ...]) -> None:
    rule = timed(name)
    assert rule is not None
    steep: Counter[str] = Counter()
    for by_word in (False, True) if rule.takes_words else (False,):
        for unit in units:
            found = steepness(rule, unit, tail, by_word=by_word)
            if found >= STEEPEST:
                steep[f"{unit[:20]!r} … {tail!r}, by word: {by_word}"] = round(min(found, 1e6))
    assert not steep, steep


def test_nearly_every_rule_is_timed() -> None:
    """The others need what no text makes: a match of another pattern, vectors, a function of several arguments."""
    kinds: Counter[str] = Counter()
    for call in FUNCTIONS.values():
        try:
            kinds["timed" if Timed.of(call) else "no text"] += 1
        except LeftOut:
            kinds["left out"] += 1
    assert kinds["timed"] >= 250, kinds
    assert kinds["left out"] <= 13, kinds


def test_a_rule_of_quadratic_cost_is_noticed() -> None:
    def quadratic(text: str) -> int:
        return sum(1 for place in range(len(text)) if (text[:place] * 8).count("去") < 0)

    rule = Timed.of(quadratic)
    assert rule is not None
    assert steepness(rule, "去年", "", by_word=False) >= STEEPEST
