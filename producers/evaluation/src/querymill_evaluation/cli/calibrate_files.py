"""``querymill calibrate-files``: measure how much each kind of evidence for a file says, and write the profile."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.progress import track

from querymill.cli.exits import WrongUse
from querymill.cli.progress import with_bar
from querymill.cli.stack import services
from querymill.cli.terminal import Console, echo
from querymill.client.mill import Querymill
from querymill_evaluation.cli.evaluate_files import prepare_files
from querymill_evaluation.cli.evaluate_kinds import Evaluation, Sample
from querymill_evaluation.cli.measuring import DataOption
from querymill_evaluation.file_calibration import VECTORS, WORDS, JudgedFile, profile
from querymill_evaluation.sets import BadSet
from querymill_shared.contracts.errors import JobFailed
from querymill_shared.contracts.files.search import FileResult


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("calibrate-files")(calibrate_files)


def calibrate_files(
    folder: Annotated[Path, typer.Argument(help="evaluation set of files")],
    out: Annotated[Path, typer.Option(help="file for the profiles, for QUERYMILL_FILE_RELEVANCE")] = Path(
        "files.relevance.json"
    ),
    vectors: Annotated[bool, typer.Option(help="fit a profile with vectors as well; embeds the whole set")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="number of queries of the set to use (default: all)")] = None,
    data: DataOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Fit the weights of evidence among the 50 candidates of each judged query, and the bands of relevance to all."""
    channels = ["words", "vectors"] if vectors else ["words"]
    options = {"mode": "oneshot", "candidates": 50, "top_n": 200, "context_budget": 0, "channels": channels}
    try:
        chosen = prepare_files(folder, options, Sample(queries=limit))
    except BadSet as error:
        raise WrongUse(str(error)) from error
    say = Console(stderr=True)
    with services(data, say), Querymill() as mill:
        judged = gather_evidence(mill, chosen, say)
    try:
        written: dict[str, Any] = {"set": chosen.name, "words": profile(judged, WORDS)}
        if vectors:
            with_vector = [file for file in judged if file.evidence["vector"] is not None]
            written["vectors"] = profile(with_vector, VECTORS)
    except ValueError as error:
        raise WrongUse(f"{folder}: {error}") from error
    out.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    if as_json:
        echo(json.dumps(written | {"path": str(out)}))
        return
    for name in ("words", "vectors"):
        if name in written:
            weights = ", ".join(f"{kind} {weight}" for kind, weight in written[name]["weights"].items())
            echo(f"{name:<8} weights: {weights}")
            order = written[name]["ndcg@10"]
            compared = f"{order['fitted']} by these weights, {order['equal']} by equal ones"
            echo(f"{name:<8} nDCG@10 of these queries: {compared}")
            echo(f"{name:<8} sum → relevance: " + ", ".join(f"{a} → {b}" for a, b in written[name]["bands"]))
    echo(f"written to {out}; workers read it from QUERYMILL_FILE_RELEVANCE")


def gather_evidence(mill: Querymill, chosen: Evaluation, say: Console) -> Sequence[JudgedFile]:
    """Ingest the set, ask its queries, and gather the evidence for every candidate.

    Raises:
        WrongUse: A file is not ingested, or a query failed.
    """
    parcels = chosen.parcels()
    outcomes = with_bar(mill, iter(parcels), say, size=sum(parcel.size for parcel in parcels))
    failed = [outcome.reason for outcome in outcomes if outcome.result is None]
    if failed:
        raise WrongUse(f"{chosen.name}: not ingested: {failed[0]}")
    chosen.prepare_collection(mill)
    judged: list[JudgedFile] = []
    for query_id, request in track(chosen.requests, "asking", console=say, transient=True):
        try:
            result = cast("FileResult", mill.submit(request).result(timeout=request.deadline + 10))
        except JobFailed as error:
            raise WrongUse(f"{query_id}: {error.reason}") from error
        relevant = {found for found, grade in chosen.qrels[query_id].items() if grade > 0}
        ids = list(chosen.scores(result))
        judged += [
            JudgedFile(query_id, hit.explanation["evidence"], found in relevant)
            for hit, found in zip(result.results, ids, strict=True)
        ]
    return judged
