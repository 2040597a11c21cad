"""What every benchmark shares: repeats, medians, targets, peers that are not installed, and one JSON object."""

import argparse
import importlib.util
import json
import operator
import os
import platform
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping

import structlog

Figures = dict[str, float]
Target = tuple[str, float]
#: The figures that are not measured, by the peer that they need and that is not installed.
LeftOut = dict[str, list[str]]

_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}


def is_installed(peer: str) -> bool:
    """Tell whether a peer's package can be imported."""
    return importlib.util.find_spec(peer) is not None


def needing(peer: str, figures: Iterable[str]) -> LeftOut:
    """Leave out the figures that need a peer, if it is not installed."""
    return {} if is_installed(peer) else {peer: list(figures)}


def run(
    name: str, measure: Callable[[], Figures], targets: Mapping[str, Target], left_out: LeftOut | None = None
) -> int:
    """Measure several times, print medians beside their targets; 0 when every target is met, else 1.

    ``left_out`` names the figures that ``measure`` does not give because their peer is not installed. They are
    printed by name. A target for one of them is neither met nor missed.
    """
    chosen = options(name)
    # Standard output is for the figures: with --json, one object.
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))
    absent = left_out or {}
    names = {figure for figures in absent.values() for figure in figures}
    measured = {figure: target for figure, target in targets.items() if figure not in names}
    runs = [measure() for _ in range(chosen.repeats)]
    figures = {figure: round(statistics.median(taken[figure] for taken in runs), 2) for figure in runs[0]}
    met = {figure: _OPERATORS[op](figures[figure], bound) for figure, (op, bound) in measured.items()}
    if chosen.json:
        report = {
            "name": name,
            "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
            "repeats": chosen.repeats,
            "figures": figures,
            "left_out": absent,
            "targets": {figure: list(target) for figure, target in measured.items()},
            "met": all(met.values()),
        }
        print(json.dumps(report))
    else:
        print(f"{name}: medians of {chosen.repeats} runs on {os.cpu_count()} cores")
        for figure, value in figures.items():
            spread = f"{min(taken[figure] for taken in runs):.2f} to {max(taken[figure] for taken in runs):.2f}"
            target = f"  target {' '.join(map(str, measured[figure]))}" if figure in measured else ""
            mark = "" if figure not in met else ("  met" if met[figure] else "  NOT MET")
            print(f"  {figure:<28}{value:>10.2f}   ({spread}){target}{mark}")
        for peer, unmeasured in absent.items():
            print(f"  left out, {peer} is not installed (make bench installs it): {', '.join(unmeasured)}")
    return 0 if all(met.values()) else 1


def options(name: str) -> argparse.Namespace:
    """Read the options every benchmark has, `repeats`, `json`, `large`, and `messages` of "scale"."""
    parser = argparse.ArgumentParser(prog=f"querymill bench {name}")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--large", action="store_true", help="the sizes that take longer than five minutes too")
    if name == "scale":
        parser.add_argument("--messages", type=int, help="search so many messages instead, and a tenth of them")
    return parser.parse_args(sys.argv[1:])
