"""What every benchmark shares: repeats, medians, targets, and one JSON object."""

import argparse
import json
import operator
import os
import platform
import statistics
import sys
from collections.abc import Callable, Mapping

Figures = dict[str, float]
Target = tuple[str, float]

_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}


def run(name: str, measure: Callable[[], Figures], targets: Mapping[str, Target]) -> int:
    """Measure several times, print medians beside their targets; 0 when every target is met, else 1."""
    chosen = options(name)
    runs = [measure() for _ in range(chosen.repeats)]
    figures = {figure: round(statistics.median(one[figure] for one in runs), 2) for figure in runs[0]}
    met = {figure: _OPERATORS[op](figures[figure], bound) for figure, (op, bound) in targets.items()}
    if chosen.json:
        report = {
            "name": name,
            "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
            "repeats": chosen.repeats,
            "figures": figures,
            "targets": {figure: list(target) for figure, target in targets.items()},
            "met": all(met.values()),
        }
        print(json.dumps(report))
    else:
        print(f"{name}: medians of {chosen.repeats} runs on {os.cpu_count()} cores")
        for figure, value in figures.items():
            spread = f"{min(one[figure] for one in runs):.2f} to {max(one[figure] for one in runs):.2f}"
            target = f"  target {' '.join(map(str, targets[figure]))}" if figure in targets else ""
            mark = "" if figure not in met else ("  met" if met[figure] else "  NOT MET")
            print(f"  {figure:<28}{value:>10.2f}   ({spread}){target}{mark}")
    return 0 if all(met.values()) else 1


def options(name: str) -> argparse.Namespace:
    """Read the options every benchmark has: `repeats`, `json`, `large`."""
    parser = argparse.ArgumentParser(prog=f"querymill bench {name}")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--large", action="store_true", help="the sizes that take longer than five minutes too")
    return parser.parse_args(sys.argv[1:])
