"""Why a page is not among the hits: the gates of a search, and what each says."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from querymill_shared.values import value
from querymill_workers.retrievers.reports.rules.fusion import HitKey, decode_key

#: What a page or passage passes on its way to the hits, in order.
GATES: Final = ("collection", "filter", "routing", "vector", "candidates", "fusion", "rerank", "top_n")
_PLACES: Final = 3


@value
class WantedHit:
    """What is missed: a whole report, or a page or passage of it."""

    document: str
    key: HitKey | None = None

    def is_met_by(self, key: HitKey) -> bool:
        """Whether a hit is what is missed, or of the report that is."""
        return key.document == self.document if self.key is None else key == self.key


@value
class PassageStanding:
    """The place of the best passage in its report, from 1; its inner product, and that of the last one taken."""

    place: int
    own: float
    last: float


def read_wanted(text: str) -> WantedHit:
    """Read what is missed: the id of a report, or a key as `HitKey.encoded` writes it."""
    try:
        key = decode_key(text)
    except ValueError:
        return WantedHit(text)
    return WantedHit(key.document, key)


def place_of(wanted: WantedHit, keys: Sequence[HitKey]) -> int:
    """Return the first place of what is missed in an order, from 1; 0 if it is not there."""
    return next((place for place, key in enumerate(keys, start=1) if wanted.is_met_by(key)), 0)


def standing(
    inner_products: Sequence[tuple[HitKey, float]], wanted: WantedHit, *, taken: int
) -> PassageStanding | None:
    """Return the standing of the best passage among those of its report, given best first; None if it has none.

    With the inner products 0.9, 0.8 and 0.7 and two taken, the third stands at place 3: 0.7, the last one taken 0.8.
    """
    for place, (key, own) in enumerate(inner_products, start=1):
        if wanted.is_met_by(key):
            return PassageStanding(place, own, inner_products[min(taken, len(inner_products)) - 1][1])
    return None


def best_standing(found: Iterable[PassageStanding | None]) -> PassageStanding | None:
    """Return the standing for the query that is nearest to taking it."""
    return min((each for each in found if each is not None), key=lambda each: each.place, default=None)


def say_behind(found: PassageStanding, *, taken: int, one_by_one: bool) -> str:
    """Say that other passages were taken: "its best passage is 14th of its report, 10 are taken (0.611; …)"."""
    of = "of its report" if one_by_one else "of all that is searched"
    return (
        f"its best passage is {ordinal(found.place)} {of}, {taken} {'is' if taken == 1 else 'are'} taken "
        f"({found.own:.{_PLACES}f}; the last one taken {found.last:.{_PLACES}f})"
    )


def say_place(place: int, total: int, *, top_n: int) -> str:
    """Say that better hits fill the list."""
    return f"place {place} of {total}, {top_n} {'is' if top_n == 1 else 'are'} returned"


def alike(wanted: WantedHit, duplicates: Mapping[int, Sequence[HitKey]]) -> int | None:
    """Return the place of the hit that stands for what is missed, because its text is nearly the same."""
    return next((place for place, keys in duplicates.items() if any(wanted.is_met_by(key) for key in keys)), None)


def ordinal(number: int) -> str:
    """Write an ordinal: 1st, 2nd, 3rd, 4th, 11th, 21st."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
