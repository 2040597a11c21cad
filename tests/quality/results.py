"""Where the results of `make eval` lie, and what is computed from them."""

import json
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from querymill_evaluation import runs
from querymill_evaluation.runs import MEASURES, QueryOutcome, SavedRun
from querymill_evaluation.significance import Difference, interval_of_mean, paired_difference
from querymill_shared.calibration import percentile
from tests.quality.baselines import BM25, RRF, VECTORS
from tests.quality.stages import DevSet, Stage, stages_of

#: The baselines, in the order of the page.
BASELINE: Final = (BM25, VECTORS, RRF)
#: The file with the cost of a stage, beside its run.
COST: Final = "cost.json"
#: The file that says why a baseline was left out, instead of its run.
LEFT_OUT: Final = "left-out.txt"
DECIDES: Final = "ndcg@10"


def folder_of(out: Path, label: str, name: str) -> Path:
    """Return the folder of a stage or baseline of a set."""
    return out / _slug(label) / _slug(name)


def _slug(name: str) -> str:
    return re.sub("[^a-z0-9]+", "-", name.lower().replace("+", "with ")).strip("-")


def cost_of(asked: Sequence[QueryOutcome]) -> dict[str, float]:
    """Sum up what new questions cost: the median of the time, and means of provider calls and tokens."""
    return {
        "p50_ms": round(percentile([one.ms for one in asked], 50), 1),
        "calls": round(statistics.fmean(one.calls for one in asked), 3),
        "tokens": round(statistics.fmean(one.tokens for one in asked), 1),
    }


def left_out(out: Path, chosen: DevSet) -> dict[str, str]:
    """Return the baselines that a set has not, with the reason."""
    files = {name: folder_of(out, chosen.label, name) / LEFT_OUT for name in BASELINE}
    return {name: path.read_text(encoding="utf-8") for name, path in files.items() if path.exists()}


@dataclass(frozen=True)
class Row:
    """A stage or baseline on a set. ``difference`` is to the stage that it is compared with, or None."""

    name: str
    run: SavedRun
    means: Mapping[str, float]
    interval: tuple[float, float]
    difference: Difference | None
    cost: Mapping[str, float] | None
    stage: Stage | None

    @property
    def degraded(self) -> int:
        """Number of questions whose answer was incomplete."""
        return sum(one.degraded for one in self.run.outcomes.values())


def rows_of(out: Path, chosen: DevSet, *, chat: bool) -> list[Row]:
    """Return what is finished of a set: the baselines, then the stages."""
    stages: dict[str, Stage | None] = dict.fromkeys(BASELINE)
    stages |= {stage.name: stage for stage in stages_of(chosen.kind, chat=chat)}
    found: dict[str, SavedRun] = {}
    for name in stages:
        folder = folder_of(out, chosen.label, name)
        if (folder / runs.HEAD).exists() and (run := runs.read_run(folder)).finished:
            found[name] = run
    return [_row(out, chosen, stages[name], name, found) for name in found]


def _row(out: Path, chosen: DevSet, stage: Stage | None, name: str, found: Mapping[str, SavedRun]) -> Row:
    run = found[name]
    values = run.values(DECIDES)
    before = None if stage is None or stage.against == name else found.get(stage.against)
    cost = folder_of(out, chosen.label, name) / COST
    return Row(
        name, run,
        {measure: statistics.fmean(run.values(measure)) for measure in MEASURES},
        interval_of_mean(values),
        None if before is None else paired_difference(before.values(DECIDES), values),
        json.loads(cost.read_text(encoding="utf-8")) if cost.exists() else None,
        stage,
    )  # fmt: skip
