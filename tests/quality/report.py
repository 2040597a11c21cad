"""Write the report page of `make eval`: one HTML file with its plots, which loads nothing."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Final

from querymill_evaluation.runs import MEASURES
from querymill_evaluation.significance import pooled_difference
from tests.quality.baselines import BM25, SAMPLED_WINDOWS, WINDOW, WINDOWS
from tests.quality.plots import Mark, interval_plot
from tests.quality.results import BASELINE, DECIDES, Row, left_out, rows_of
from tests.quality.stages import DEFAULTS, DevSet, stages_of
from tests.quality.verdicts import RULE, Judged, judge

STYLE: Final = Path(__file__).with_name("report.css")
Rows = Mapping[str, Sequence[Row]]


def write_page(target: Path, out: Path, sets: Sequence[DevSet], *, chat: bool, failed: Sequence[str] = ()) -> None:
    """Write the page of all results that are there."""
    rows = {chosen.label: rows_of(out, chosen, chat=chat) for chosen in sets}
    kinds = dict.fromkeys(chosen.kind for chosen in sets)
    of_kind = {kind: {one.label: rows[one.label] for one in sets if one.kind == kind} for kind in kinds}
    judged = {kind: _judged(kind, of_kind[kind], chat=chat) for kind in kinds}
    body = [*_heading(rows, failed), *_in_short(of_kind, judged), *_stages(judged), *_off(judged, kinds, chat=chat)]
    missing = {chosen.label: left_out(out, chosen) for chosen in sets}
    for kind in kinds:
        body += _kind(kind, of_kind[kind], judged[kind], missing)
    body += _method(rows)
    target.write_text(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<title>How well Querymill finds</title>\n"
        f"<style>\n{STYLE.read_text(encoding='utf-8')}</style></head>\n<body><main>\n{chr(10).join(body)}\n"
        "</main></body></html>\n",
        encoding="utf-8",
    )


def _judged(kind: str, rows: Rows, *, chat: bool) -> list[Judged]:
    found = (judge(stage, rows) for stage in stages_of(kind, chat=chat))
    return [one for one in found if one is not None]


def _heading(rows: Rows, failed: Sequence[str]) -> Iterator[str]:
    heads = [row.run.head for of_set in rows.values() for row in of_set]
    releases = ", ".join(sorted({head.release for head in heads})) or "unknown"
    cut = sorted({head.sampled["questions"] for head in heads if head.sampled})
    asked = sum(of_set[0].run.head.asked for of_set in rows.values() if of_set)
    extent = (
        f"<strong>A sample</strong>: at most {cut[0]} questions of each set, on a corpus cut to them. Figures are"
        " higher than on the whole sets, and intervals are wide."
        if cut else "Whole sets."
    )  # fmt: skip
    yield "<h1>How well Querymill finds</h1>"
    yield (
        f"<p class='lead'>{len([1 for one in rows.values() if one])} ways to ask sets with judgements, {asked}"
        f" questions, each through real servers. {extent}</p>"
        f"<p class='dim'>Release {escape(releases)} · {datetime.now(UTC):%Y-%m-%d} · {os.cpu_count()} cores</p>"
    )
    for one in failed:
        yield f"<p class='bad'>Not measured: {escape(one)}</p>"


def _in_short(of_kind: Mapping[str, Rows], judged: Mapping[str, Sequence[Judged]]) -> Iterator[str]:
    yield "<h2>In short</h2><ul>"
    for kind, rows in of_kind.items():
        pairs = [
            (named[BM25], named[DEFAULTS])
            for of_set in rows.values()
            for named in [{row.name: row for row in of_set}]
            if BM25 in named and DEFAULTS in named
        ]
        if not pairs:
            continue
        found = pooled_difference([(a.run.values(DECIDES), b.run.values(DECIDES)) for a, b in pairs])
        earns = [
            one.stage.name for one in judged[kind] if one.verdict == "earns its cost" and one.stage.name != DEFAULTS
        ]
        remarks = [f"<em>{escape(one.stage.name)}</em>: {one.remark}" for one in judged[kind] if _remarkable(one)]
        yield (
            f"<li><strong>{kind}</strong>, as it is by default, is {_against(found.mean, found.low, found.high)} plain"
            f" BM25 over {len(pairs)} set{'s' if len(pairs) > 1 else ''}."
            f" {'Earn their cost: ' + escape(', '.join(earns)) + '.' if earns else 'No single stage showed a gain.'}"
            f" {' '.join(remarks)}</li>"
        )
    yield "</ul>"


def _remarkable(one: Judged) -> bool:
    return bool(one.remark) and one.stage.name != DEFAULTS


def _against(mean: float, low: float, high: float) -> str:
    span = f"({mean:+.3f} nDCG@10, 95 % interval {low:+.3f} to {high:+.3f})"
    if low > 0:
        return f"better {span} than"
    return f"worse {span} than" if high < 0 else f"not distinguishable {span} from"


def _stages(judged: Mapping[str, Sequence[Judged]]) -> Iterator[str]:
    yield f"<h2>Which stage earns its cost</h2><p>{escape(RULE)}</p>"
    yield (
        "<div class='wide'><table><thead><tr><th>kind</th><th>stage</th><th>default</th><th>compared with</th>"
        "<th class='n'>nDCG@10</th><th class='n'>95 % interval</th><th class='n'>median ms</th><th class='n'>calls</th>"
        "<th class='n'>tokens</th><th>verdict</th><th>what it is for</th></tr></thead><tbody>"
    )
    for kind, stages in judged.items():
        for one in stages:
            if one.stage.name == DEFAULTS:
                continue
            cells = [
                kind, one.stage.name, "on" if one.stage.on_by_default else "off", one.stage.against,
                f"{one.pooled.mean:+.3f}", f"{one.pooled.low:+.3f} to {one.pooled.high:+.3f}",
                *(_change(one, name) for name in ("p50_ms", "calls", "tokens")),
                f"{one.verdict}. {one.remark}", one.stage.why,
            ]  # fmt: skip
            yield f"<tr class='{one.tone}'>{_cells(cells, numbers=range(4, 9))}</tr>"
    yield "</tbody></table></div>"


def _change(one: Judged, name: str) -> str:
    if not one.cost or not one.cost_before:
        return "–"
    digits = 1 if name == "calls" else 0
    return f"{one.cost_before[name]:.{digits}f} → {one.cost[name]:.{digits}f}"


def _off(judged: Mapping[str, Sequence[Judged]], kinds: Iterable[str], *, chat: bool) -> Iterator[str]:
    yield "<h2>What is off by default, and why</h2><ul>"
    for kind, stages in judged.items():
        for one in stages:
            if not one.stage.on_by_default:
                yield (
                    f"<li><strong>{kind}, {escape(one.stage.name)}</strong>: {escape(one.verdict)}"
                    f" ({one.pooled.mean:+.3f}, {one.pooled.low:+.3f} to {one.pooled.high:+.3f},"
                    f" {_change(one, 'p50_ms')} ms). {escape(one.stage.why)}</li>"
                )
    left = [(kind, stage) for kind in kinds for stage in stages_of(kind, chat=True) if stage.needs_chat]
    for kind, stage in [] if chat else left:
        yield (
            f"<li><strong>{kind}, {escape(stage.name)}</strong>: not measured. It needs a chat model, and the bundled"
            f" one is too small to say anything about it (<code>CHAT=1</code> and a model of yours measure it)."
            f" {escape(stage.why)}</li>"
        )
    yield "</ul>"


def _kind(kind: str, rows: Rows, judged: Sequence[Judged], missing: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    yield f"<h2>{kind}</h2>"
    shown = [one for one in judged if one.stage.name != DEFAULTS]
    if shown:
        marks = [
            Mark(one.stage.name, one.pooled.mean, one.pooled.low, one.pooled.high,
                 f"{one.pooled.mean:+.3f} to {one.stage.against}"[:34], one.tone)
            for one in shown
        ]  # fmt: skip
        yield "<h3>What each stage changes, all sets together</h3>"
        yield interval_plot(marks, title=f"{kind}: difference in nDCG@10 of each stage", zero=True)
    for label, of_set in rows.items():
        yield f"<h3>{escape(label)}</h3>"
        if not of_set:
            yield "<p class='dim'>not measured</p>"
            continue
        yield interval_plot(_marks(of_set), title=f"nDCG@10 on {label}")
        for name, reason in missing[label].items():
            yield f"<p class='dim'>Without the baseline “{escape(name)}”: {escape(reason)}.</p>"
        yield from _table(of_set)


def _marks(of_set: Sequence[Row]) -> list[Mark]:
    tones = {True: "on", False: "off"}
    return [
        Mark(row.name, row.means[DECIDES], *row.interval, f"{row.means[DECIDES]:.3f}",
             "base" if row.stage is None else tones[row.stage.name == DEFAULTS])
        for row in of_set
    ]  # fmt: skip


def _table(of_set: Sequence[Row]) -> Iterator[str]:
    asked = of_set[0].run.head.asked
    yield (
        f"<details><summary>{asked} questions: all figures</summary><div class='wide'><table><thead><tr><th></th>"
        "<th class='n'>nDCG@10</th><th class='n'>Recall@10</th><th class='n'>MRR@10</th><th>difference in nDCG@10</th>"
        "<th class='n'>median ms</th><th class='n'>calls</th><th class='n'>tokens</th><th class='n'>incomplete</th>"
        "</tr></thead><tbody>"
    )
    costs = (("p50_ms", 0), ("calls", 1), ("tokens", 0))
    for row in of_set:
        found = row.difference
        difference = "" if found is None or row.stage is None else (
            f"{found.mean:+.3f} ({found.low:+.3f} to {found.high:+.3f}) to {row.stage.against}: {found.verdict}"
        )  # fmt: skip
        cost = row.cost
        cells = [
            row.name, *(f"{row.means[measure]:.3f}" for measure in MEASURES), difference,
            *("–" if cost is None else f"{cost[name]:.{digits}f}" for name, digits in costs),
            str(row.degraded),
        ]  # fmt: skip
        yield f"<tr>{_cells(cells, numbers=(1, 2, 3, 5, 6, 7, 8))}</tr>"
    yield "</tbody></table></div></details>"


def _cells(cells: Sequence[str], *, numbers: Sequence[int]) -> str:
    return "".join(
        f"<td{' class=n' if place in numbers else ''}>{escape(cell)}</td>" for place, cell in enumerate(cells)
    )


def _method(rows: Rows) -> Iterator[str]:
    chosen = {
        (row.stage.kind, row.stage.name): row.stage.chosen
        for of_set in rows.values() for row in of_set if row.stage is not None and row.stage.chosen
    }  # fmt: skip
    yield "<h2>How choices were made</h2>"
    yield (
        "<p>A parameter is chosen by cross-validation, or on sets other than the one it is reported on; where that was"
        " not possible, it is said here. A stage without a line has no parameter of its own.</p><ul>"
    )
    for (kind, name), said in chosen.items():
        yield f"<li>{kind}, {escape(name)}: {escape(said)}</li>"
    yield "</ul><h2>How to read this page</h2><ul>"
    for said in (
        "nDCG@10, Recall@10 and MRR@10 are those of ir-measures. A question without hits counts as 0.",
        "A bar is the 95 % interval: 10,000 times the questions are drawn again. Differences are paired, question by"
        " question; “all sets together” is the mean of the sets, each drawn from by itself. Many stages are compared:"
        " among twenty that change nothing, one looks better or worse by chance.",
        f"Baselines ({', '.join(BASELINE)}) use no retriever: bm25s over whole documents; the embedded model over"
        f" windows of {WINDOW} characters, at most {WINDOWS} of a document ({SAMPLED_WINDOWS} in a sample), the best"
        " counts; RRF with k = 60 and equal weights.",
        "Filters are those each set intends: its conversation, log, filing or repository.",
        "Median ms, provider calls and tokens are those of twenty new questions, one after the other, whose vectors"
        " nobody has made before. They hold for the machine of this run.",
        "Filled blue: the defaults. Grey: baselines. Hollow: other stages.",
    ):
        yield f"<li>{escape(said)}</li>"
    yield (
        "</ul><p>Written by <code>make eval DATA=folder</code>; with <code>SAMPLE=50</code> on a sample. The results"
        " of every question are in <code>.eval/</code>; <code>querymill eval compare</code> reads them.</p>"
    )
