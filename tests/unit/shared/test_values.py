"""Values: compared and hashed by what they hold, and assigned to by nobody whom the type checker sees."""

from dataclasses import field, replace
from pathlib import Path

import pytest

from querymill_shared.values import value

ROOT = Path(__file__).parents[3]


@value
class Place:
    """Where something is."""

    page: int
    words: tuple[str, ...] = field(default=(), compare=False)


def test_values_are_equal_and_hashed_by_what_they_hold() -> None:
    assert Place(3) == Place(3, ("said",)) != Place(4)
    assert {Place(3), Place(3), Place(4)} == {Place(3), Place(4)}
    assert replace(Place(3), page=5) == Place(5)


def test_a_value_has_no_other_fields() -> None:
    with pytest.raises(AttributeError):
        Place(3).line = 7  # type: ignore[attr-defined]


def test_the_type_checker_refuses_an_assignment() -> None:
    """If it did not, it would report the comment on the line below as unused."""
    place = Place(3)
    place.page = 4  # type: ignore[misc]
    assert place.page == 4  # which is why the type checker has to


@pytest.mark.parametrize("member", ["shared", "workers"])
def test_every_value_is_made_in_the_same_way(member: str) -> None:
    sources = [path for path in (ROOT / member / "src").rglob("*.py") if path.name != "values.py"]
    assert len(sources) > 50
    assert [path.name for path in sources if "@dataclass(frozen=True, slots=True)\n" in path.read_text()] == []
