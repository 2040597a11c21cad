"""Does a stage earn its cost? The rule that the report page states and follows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from querymill_evaluation.significance import Difference, pooled_difference
from tests.quality.results import DECIDES, Row
from tests.quality.stages import Stage

RULE = (
    "A stage earns its cost if it is better on the average of the sets of its kind (the 95 % interval of the paired"
    " difference in nDCG@10 lies above 0) and worse on none (no set's interval lies below 0). Anything else is off by"
    " default, unless its reason says what it is for."
)


@dataclass(frozen=True)
class Judged:
    """A stage over all sets of its kind that measured it and the stage it is compared with."""

    stage: Stage
    pooled: Difference
    by_set: Mapping[str, Difference]
    cost: Mapping[str, float]
    cost_before: Mapping[str, float]

    @property
    def verdict(self) -> str:
        """What the rule says."""
        worse = [label for label, one in self.by_set.items() if one.verdict == "worse"]
        better = [label for label, one in self.by_set.items() if one.verdict == "better"]
        if self.pooled.low > 0 and not worse:
            return "earns its cost"
        if worse and better:
            return f"better on {', '.join(better)}, worse on {', '.join(worse)}"
        if worse or self.pooled.high < 0:
            return f"loses{' on ' + ', '.join(worse) if worse else ''}"
        if better:
            return f"better on {', '.join(better)} alone"
        return "no gain shown"

    @property
    def tone(self) -> str:
        """The colour of the verdict."""
        return "good" if self.verdict == "earns its cost" else "bad" if "loses" in self.verdict else "off"

    @property
    def remark(self) -> str:
        """What does not fit: a stage that is on without a gain, or off with one."""
        if self.stage.on_by_default and self.verdict != "earns its cost":
            return "On by default without a gain in this run."
        if not self.stage.on_by_default and self.verdict == "earns its cost":
            return "Off by default, though it gained in this run."
        return ""


def judge(stage: Stage, rows: Mapping[str, Sequence[Row]]) -> Judged | None:
    """Judge a stage by the rows of each set; None if no set measured the pair."""
    pairs: dict[str, tuple[Row, Row]] = {}
    for label, of_set in rows.items():
        named = {row.name: row for row in of_set}
        if stage.name in named and stage.against in named and stage.against != stage.name:
            pairs[label] = named[stage.against], named[stage.name]
    if not pairs:
        return None
    pooled = pooled_difference([(a.run.values(DECIDES), b.run.values(DECIDES)) for a, b in pairs.values()])
    by_set = {label: after.difference for label, (_, after) in pairs.items() if after.difference is not None}
    return Judged(
        stage, pooled, by_set, _mean([b.cost for _, b in pairs.values()]), _mean([a.cost for a, _ in pairs.values()])
    )


def _mean(costs: Sequence[Mapping[str, float] | None]) -> dict[str, float]:
    known = [cost for cost in costs if cost is not None]
    names = known[0] if known else {}
    return {name: sum(cost[name] for cost in known) / len(known) for name in names}
