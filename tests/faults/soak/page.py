"""The page of a soak: each figure with its slope, and what became of the jobs."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.faults.soak.run import BRIEF, WARM_UP, Soaked
from tests.faults.soak.slopes import FLAT, Slope
from tests.faults.table.results import this_machine

PAGE: Final = Path(__file__).parents[1] / "soak.md"

_PAGE: Final = Path(__file__).with_name("page.txt").read_text(encoding="utf-8")


def render(soaked: Soaked) -> str:
    """Return the page, with this machine and day."""
    breaches = "".join(f"\n- {each}" for each in soaked.counts.breaches)
    return _PAGE.format(
        minutes=soaked.seconds / 60, seed=soaked.seed, samples=soaked.samples, missed=soaked.missed,
        counts=soaked.counts, warm_up=WARM_UP, flat=FLAT,
        brief=", ".join(f"`{name}={value}`" for name, value in BRIEF.items()),
        faults=", ".join(f"{name}: {times}" for name, times in sorted(Counter(soaked.faults).items())),
        table="\n".join([*_HEAD, *(_row(name, slope) for name, slope in soaked.slopes.items())]),
        breaches=f"\n{breaches}" if breaches else "",
        not_brought_about=_listed(soaked.not_brought_about),
        machine=this_machine(), versions=soaked.versions, commit=soaked.commit, day=datetime.now(UTC).date(),
    )  # fmt: skip


_HEAD: Final = (
    "| figure | median | growth in an hour | interval | flat |",
    "|---|---:|---:|---:|---|",
)


def _listed(faults: Sequence[str]) -> str:
    return f"; {len(faults)} could not be brought about: {', '.join(faults)}" if faults else ""


def _row(name: str, slope: Slope) -> str:
    interval, is_flat = f"{slope.low:+,.2f} to {slope.high:+,.2f}", "yes" if slope.is_flat else "**no**"
    return f"| {name} | {slope.median:,.1f} | {slope.an_hour:+,.2f} | {interval} | {is_flat} |"
