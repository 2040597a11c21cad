"""The page of a soak: each figure with its slope, and what became of the jobs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.faults.soak.figures import TOMBSTONES
from tests.faults.soak.results import Soaked
from tests.faults.soak.run import WARM_UP
from tests.faults.soak.slopes import FLAT, Slope

PAGE: Final = Path(__file__).parents[1] / "soak.md"

_PAGE: Final = Path(__file__).with_name("page.txt").read_text(encoding="utf-8")


def render(soaks: Sequence[Soaked]) -> str:
    """Return the page: the last run, and a line for each of those before."""
    soaked = soaks[-1]
    breaches = "".join(f"\n- {each}" for each in soaked.counts.breaches)
    before = [_BEFORE_HEAD, *map(_row_before, soaks[:-1])] if soaks[:-1] else []
    return _PAGE.format(
        minutes=soaked.seconds / 60, seed=soaked.seed, samples=soaked.samples, missed=soaked.missed,
        counts=soaked.counts, warm_up=WARM_UP, flat=FLAT,
        brief=", ".join(f"`{name}={value}`" for name, value in soaked.settings.items()),
        faults=", ".join(f"{name}: {times}" for name, times in sorted(soaked.faults.items())),
        table="\n".join([_HEAD, *(_row(name, slope) for name, slope in soaked.slopes.items())]),
        breaches=f"\n{breaches}" if breaches else "",
        remark=f"\n{soaked.remark}\n" if soaked.remark else "",
        not_brought_about=_listed(soaked.not_brought_about),
        machine=soaked.machine, versions=soaked.versions, commit=soaked.commit, day=soaked.day,
        before="\n".join(["\n## Runs before", "", *before, ""]) if before else "",
    )  # fmt: skip


_HEAD: Final = """\
| figure | median | growth in an hour | interval | flat |
|---|---:|---:|---:|---|"""
_BEFORE_HEAD: Final = """\
| day | commit | seed | minutes | jobs | lost | doubled | wrong | stuck | gone | figures that were not flat | remark |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|---|"""


def _listed(faults: Sequence[str]) -> str:
    return f"; {len(faults)} could not be brought about: {', '.join(faults)}" if faults else ""


def _row(name: str, slope: Slope) -> str:
    interval, is_flat = f"{slope.low:+,.2f} to {slope.high:+,.2f}", "yes" if slope.is_flat else "**no**"
    is_flat = "after eight days" if name == TOMBSTONES else is_flat
    return f"| {name} | {slope.median:,.1f} | {slope.an_hour:+,.2f} | {interval} | {is_flat} |"


def _row_before(soaked: Soaked) -> str:
    counts = soaked.counts
    growing = ", ".join(f"{name} ({soaked.slopes[name].an_hour:+,.2f} an hour)" for name in soaked.growing)
    cells = (
        soaked.day, f"`{soaked.commit}`", soaked.seed, f"{soaked.seconds / 60:.0f}", f"{counts.submitted:,}",
        counts.lost, counts.doubled, counts.wrong, counts.stuck, counts.gone, growing or "none", soaked.remark,
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"
