"""Why a file is not among those returned: the gates of a search, and what each says."""

from collections.abc import Mapping, Sequence
from typing import Final

from querymill_workers.retrievers.files.rules.bands import FLOORS, band
from querymill_workers.retrievers.files.rules.candidates import FileCandidate

#: What a file passes on its way to the result, in order.
GATES: Final = ("indexed", "filter", "candidates", "budget", "band", "top_n")
#: Files of a round that a request may have evaluated.
MAX_EVALUATED: Final = 50


def place_of(path: str, ranking: Sequence[FileCandidate]) -> int:
    """Return the place of a file among candidates, from 1; 0 if no search found it."""
    return next((place for place, found in enumerate(ranking, start=1) if found.path == path), 0)


def say_unfound(rounds: int, queries: Sequence[str]) -> str:
    """Say that no search of any round found a file."""
    shown = ", ".join(queries[:4]) + (f" and {len(queries) - 4} more" if len(queries) > 4 else "")
    return f"no search of {rounds} {'round' if rounds == 1 else 'rounds'} found it: {shown}"


def say_behind(places: Mapping[int, int], *, candidates: int) -> str:
    """Say at which place of each round a file was: "place 31 in round 1; 20 files are evaluated in a round"."""
    said = ", ".join(f"place {place} in round {number}" for number, place in sorted(places.items()))
    return f"{said}; {candidates} files are evaluated in a round"


def say_band(relevance: float) -> str:
    """Say the band of a file that is not relevant enough: "0.431 (low); medium begins at 0.5"."""
    floor = next(least for least, name in FLOORS if name == "medium")
    return f"{relevance:.3f} ({band(relevance)}); medium begins at {floor:g}"


def say_place(place: int, total: int, *, top_n: int) -> str:
    """Say that better files fill the list."""
    return f"place {place} of {total}, {top_n} {'is' if top_n == 1 else 'are'} returned"
