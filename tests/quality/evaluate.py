"""Measure every set with its retriever, through real servers: ``python -m tests.quality.evaluate FOLDER_OF_SETS``.

``make eval DATA=folder`` calls it. A fresh embedded stack ingests one set after the other; the baselines and every
stage of `stages.py` are asked the same questions. Results go to a folder that git ignores, question by question, so
that a run that was interrupted goes on where it stopped. At the end the report page is written, and the stack with its
data is deleted.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from querymill import Querymill
from querymill.cli.exits import WrongUse
from querymill.cli.stack import services, stack_in
from querymill.cli.terminal import Console
from querymill_evaluation import runs
from querymill_evaluation.cli.evaluate_kinds import Evaluation, Sample, score_by_rank
from querymill_evaluation.cli.measuring import ask, ask_set, head_of, ingest_set, prepared
from querymill_evaluation.runs import BadRun, QueryOutcome, RunHead
from querymill_evaluation.sets import BadSet
from tests.quality.baselines import (
    MAX_WINDOWS,
    RRF,
    SAMPLED_WINDOWS,
    VECTORS,
    WINDOWS,
    rankings,
    read_corpus,
    window_count,
)
from tests.quality.report import write_page
from tests.quality.results import BASELINE, COST, LEFT_OUT, cost_of, folder_of, left_out
from tests.quality.samples import sampled
from tests.quality.stages import REQUESTS, SETS, DevSet, Stage, stages_of

ROOT: Final = Path(__file__).parents[2]
#: New questions that each stage is asked to learn its cost.
COST_QUESTIONS: Final = 20


@dataclass(frozen=True)
class Plan:
    """What is measured, and where the results go."""

    data: Path
    out: Path
    sample: int | None
    sets: tuple[DevSet, ...]
    chat: bool
    release: str
    say: Console


def main() -> int:
    """Measure and write the page; 1 if a set could not be measured."""
    options = _options()
    say = Console(stderr=True)
    try:
        plan = _plan(options, say)
        failed = [] if options.report_only else _measure(plan)
    except (WrongUse, BadRun) as error:
        say.print(str(error), style="red")
        return 2
    except KeyboardInterrupt:
        say.print("interrupted: the same command goes on from here", style="red")
        return 130
    write_page(options.page, plan.out / "runs", plan.sets, chat=plan.chat, failed=failed)
    say.print(f"report: {options.page}")
    return 1 if failed else 0


def _plan(options: argparse.Namespace, say: Console) -> Plan:
    if not options.data.is_dir():
        raise WrongUse(f"DATA: {options.data} must be a folder that holds evaluation sets")
    wanted = [name for name in options.sets.split(",") if name]
    unknown = [name for name in wanted if name not in {chosen.folder for chosen in SETS}]
    if unknown:
        raise WrongUse(f"SETS: {unknown[0]!r} is not one of: {', '.join(dict.fromkeys(one.folder for one in SETS))}")
    if options.kind and options.kind not in REQUESTS:
        raise WrongUse(f"KIND: {options.kind!r} is not one of: {', '.join(REQUESTS)}")
    chosen = tuple(
        one for one in SETS
        if (not wanted or one.folder in wanted) and options.kind in ("", one.kind)
        and (options.data / one.folder).is_dir()
    )  # fmt: skip
    if not chosen:
        raise WrongUse(f"DATA: {options.data} must hold at least one set that is asked for")
    name = "whole" if options.sample is None else f"sample-{options.sample}"
    if options.fresh:
        shutil.rmtree(options.out / name, ignore_errors=True)
    return Plan(options.data, options.out / name, options.sample, chosen, options.chat, _release(), say)


def _measure(plan: Plan) -> list[str]:
    """Measure every set that is not finished; return what went wrong."""
    failed: list[str] = []
    groups = dict.fromkeys((one.folder, one.kind) for one in plan.sets)
    open_ = [key for key in groups if not all(_finished(plan, one) for one in _ways(plan, key))]
    if not open_:
        return failed
    with _fresh_stack(plan), Querymill() as mill:
        for number, key in enumerate(open_, start=1):
            started = time.monotonic()
            plan.say.rule(f"{key[0]} ({key[1]}), {number} of {len(open_)}")
            try:
                _measure_set(plan, mill, _ways(plan, key))
            except (WrongUse, BadSet, TimeoutError, OSError) as error:
                failed.append(f"{key[0]}: {type(error).__name__}: {error}")
                plan.say.print(failed[-1], style="red")
            plan.say.print(f"{key[0]}: {time.monotonic() - started:.0f} s")
    shutil.rmtree(plan.out / "stack", ignore_errors=True)
    shutil.rmtree(plan.out / "sets", ignore_errors=True)
    return failed


def _ways(plan: Plan, key: tuple[str, str]) -> list[DevSet]:
    return [one for one in plan.sets if (one.folder, one.kind) == key]


def _finished(plan: Plan, chosen: DevSet) -> bool:
    """Return whether all stages and baselines are measured, by this release.

    Raises:
        BadRun: They were measured by another one.
    """
    left = left_out(plan.out / "runs", chosen)
    names = [stage.name for stage in stages_of(chosen.kind, chat=plan.chat)]
    names += [name for name in BASELINE if name not in left]
    done = []
    for name in names:
        folder = folder_of(plan.out / "runs", chosen.label, name)
        if (folder / runs.HEAD).exists():
            run = runs.read_run(folder)
            if run.head.release != plan.release:
                raise BadRun(f"{plan.out}: measured release {run.head.release}, this is {plan.release}; give FRESH=1")
            done.append(run.finished and (name in BASELINE or (folder / COST).exists()))
        else:
            done.append(False)
    return all(done)


@contextmanager
def _fresh_stack(plan: Plan) -> Iterator[None]:
    """Start a stack of its own, which an interrupted run finds again with all that is ingested."""
    data = plan.out / "stack"
    stack_in(data).down()  # what a killed run left running
    with services(data, plan.say):
        yield


def _measure_set(plan: Plan, mill: Querymill, ways: Sequence[DevSet]) -> None:
    first = ways[0]
    folder = sampled(first, plan.data / first.folder, plan.out / "sets", plan.sample)
    stages = stages_of(first.kind, chat=plan.chat)
    made = {(way.label, stage.name): _prepared(way, stage, folder) for way in ways for stage in stages}
    ingested: set[str] = set()
    for evaluation in made.values():  # a stage may ingest more than another: vectors, for example
        lines = json.dumps([parcel.request.model_dump_json() for parcel in evaluation.parcels()])
        if lines not in ingested:
            ingest_set(mill, evaluation, first.kind, plan.say)
            ingested.add(lines)
    if first.kind == "files":
        for evaluation in made.values():
            evaluation.prepare_collection(mill)
    for way in ways:
        _measure_baselines(plan, mill, way, folder, made[way.label, stages[0].name])
        for number, stage in enumerate(stages):
            _measure_stage(plan, mill, way, stage, made[way.label, stage.name], number)


def _prepared(way: DevSet, stage: Stage, folder: Path) -> Evaluation:
    return prepared(folder, way.kind, {**way.options, **stage.options}, Sample())


def _measure_stage(plan: Plan, mill: Querymill, way: DevSet, stage: Stage, evaluation: Evaluation, number: int) -> None:
    save = folder_of(plan.out / "runs", way.label, stage.name)
    head = _head(plan, evaluation, way.kind, {**way.options, **stage.options})
    plan.say.print(f"{way.label}: {stage.name}")
    if not (save / COST).exists():
        # Asked with a word that no other stage adds, so that each stage pays for its vectors.
        marker = "zq" + "bcdfghjklmnp"[number % 12] * (1 + number // 12)
        asked = [
            ask(mill, query_id, request.model_copy(update={"query": f"{request.query} {marker}"}), evaluation, plan.say)
            for query_id, request in evaluation.requests[:COST_QUESTIONS]
        ]
        ask_set(mill, evaluation, plan.say, head=head, save=save)
        (save / COST).write_text(json.dumps(cost_of(asked)), encoding="utf-8")


def _measure_baselines(plan: Plan, mill: Querymill, way: DevSet, folder: Path, evaluation: Evaluation) -> None:
    corpus, most = read_corpus(folder, way), WINDOWS if plan.sample is None else SAMPLED_WINDOWS
    folders = {name: folder_of(plan.out / "runs", way.label, name) for name in BASELINE}
    count = window_count(corpus, most)
    if count > MAX_WINDOWS:
        for name in (VECTORS, RRF):
            where = folders.pop(name)
            where.mkdir(parents=True, exist_ok=True)
            (where / LEFT_OUT).write_text(f"{count:,} windows would take hours to embed", encoding="utf-8")
    head = _head(plan, evaluation, way.kind, way.options)
    begun = {name: runs.begin_run(where, head) for name, where in folders.items()}
    if all(run.finished for run in begun.values()):
        return
    known = {name: set(run.outcomes) for name, run in begun.items()}
    asked = {query_id for query_id, _ in evaluation.requests}
    for name, query_id, ranking in rankings(corpus, mill, plan.out / "vectors", most=most):
        if query_id in asked and query_id not in known[name]:
            outcome = QueryOutcome(query_id, score_by_rank(ranking), 0.0, 0, 0, degraded=False)
            runs.append_outcome(folders[name], outcome, evaluation.qrels)


def _head(plan: Plan, evaluation: Evaluation, kind: str, options: dict[str, Any] | Any) -> RunHead:
    head = head_of(evaluation, kind, options, Sample(), plan.release)
    return head.model_copy(update={"sampled": {} if plan.sample is None else {"questions": plan.sample}})


def _release() -> str:
    """Name the newest commit of what is shipped, with a + if something is not committed."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments, "--", "shared", "producers", "workers", "deploy"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    return (git("log", "-1", "--format=%h") or "unknown") + ("+" if git("status", "--porcelain") else "")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of the evaluation sets")
    parser.add_argument("--out", type=Path, default=ROOT / ".eval", help="folder of the results (default: .eval)")
    parser.add_argument("--page", type=Path, default=ROOT / "tests/quality/report.html", help="the page to write")
    parser.add_argument("--sample", type=int, help="ask at most so many questions of each set, on a corpus cut to them")
    parser.add_argument("--sets", default="", help="names of sets, with commas (default: all)")
    parser.add_argument("--kind", default="", help="measure one kind only")
    parser.add_argument("--chat", action="store_true", help="measure the stages that need a chat model, too")
    parser.add_argument("--fresh", action="store_true", help="delete the results of a former run first")
    parser.add_argument("--report-only", action="store_true", help="write the page from the results that are there")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
