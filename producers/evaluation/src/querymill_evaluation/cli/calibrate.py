"""``querymill calibrate``: measure the raw cosines of an embedding model, and write its profile."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from querymill.cli.exits import WrongUse
from querymill.cli.stack import services
from querymill.cli.terminal import Console, echo
from querymill.client.mill import Querymill
from querymill_evaluation.calibration import (
    ComparedPair,
    Vector,
    band_prices,
    cosine,
    folder_comparisons,
    profile,
    sample_comparisons,
    set_comparisons,
)
from querymill_evaluation.cli.measuring import DataOption
from querymill_evaluation.sets import BadSet
from querymill_shared.contracts.embed import EmbedResult, EmbedTexts, TextToEmbed
from querymill_shared.contracts.fields import Lane

#: The collection that is charged for the provider calls.
COLLECTION = "calibration"
#: Texts that one job embeds, and the seconds it may take. The first job also waits until the embedded stack's workers
#: listen: 70 s on a machine with eight times as much to do as it has cores, and nobody waits for the command.
BATCH, TIMEOUT_S = 64, 900


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(calibrate)


def calibrate(
    model: Annotated[str, typer.Option(help="embedding model of the workers: EMBEDDING_MODEL")],
    out: Annotated[
        Path | None,
        typer.Option(help="file for the profile, for QUERYMILL_CALIBRATION (default: MODEL.calibration.json)"),
    ] = None,
    judged: Annotated[Path | None, typer.Option("--set", help="evaluation set of messages to measure as well")] = None,
    limit: Annotated[int, typer.Option(min=1, help="number of queries of the set to use")] = 100,
    sets: Annotated[
        Path | None,
        typer.Option("--sets", help="folder of evaluation sets whose real pairs tell what each band costs"),
    ] = None,
    data: DataOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Measure raw cosines of related and unrelated pairs, and fit the bands of similarity to them."""
    fitted, real = read_comparisons(judged, sets, limit=limit)
    comparisons = fitted + real
    say = Console(stderr=True)
    with services(data, say), Querymill() as mill:
        queries = embed_distinct(mill, [pair.query for pair in comparisons], "query", model)
        messages = embed_distinct(mill, [pair.message for pair in comparisons], "passage", model)
    cosines = [cosine(queries[pair.query], messages[pair.message]) for pair in comparisons]
    own, others = cosines[: len(fitted)], cosines[len(fitted) :]
    written = profile(model, pick(fitted, own, related=True), pick(fitted, own, related=False))
    if real:
        related, unrelated = (pick(real, others, related=wanted) for wanted in (True, False))
        points = [(raw, similarity) for raw, similarity in written["points"]]
        written["real_pairs"] = band_prices(points, related, unrelated)
    target = out or Path(f"{model.replace('/', '-')}.calibration.json")
    target.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    if as_json:
        echo(json.dumps(written | {"path": str(target)}))
        return
    for name in ("related", "unrelated"):
        echo(f"{name:<10}" + "  ".join(f"{key} {value}" for key, value in written[name].items()))
    echo("raw cosine → similarity: " + ", ".join(f"{raw} → {worth}" for raw, worth in written["points"]))
    for priced in written.get("real_pairs", {}).get("bands", ()):
        echo(
            "from {similarity}: {unrelated:.1%} of unrelated pairs, {related:.1%} of related ({band})".format(**priced)
        )
    echo(f"written to {target}; workers read it from QUERYMILL_CALIBRATION")


def read_comparisons(
    judged: Path | None, sets: Path | None, *, limit: int
) -> tuple[list[ComparedPair], list[ComparedPair]]:
    """Return the pairs that the bands are fitted to, and the real ones that tell what the bands cost.

    Raises:
        WrongUse: A folder is not what it should be.
    """
    try:
        fitted = sample_comparisons() + (set_comparisons(judged, max_queries=limit) if judged else [])
    except BadSet as error:
        raise WrongUse(f"--set: {error}") from error
    try:
        return fitted, folder_comparisons(sets, max_queries=limit) if sets else []
    except BadSet as error:
        raise WrongUse(f"--sets: {error}") from error


def pick(comparisons: Sequence[ComparedPair], cosines: Sequence[float], *, related: bool) -> list[float]:
    """Return the cosines of the related pairs, or of the others."""
    return [value for pair, value in zip(comparisons, cosines, strict=True) if pair.related is related]


def embed_distinct(
    mill: Querymill, texts: Sequence[str], input_type: Literal["query", "passage"], model: str
) -> dict[str, Vector]:
    """Embed texts, each once, as queries or as passages; return the vector of each text.

    Raises:
        WrongUse: The workers embed with another model.
    """
    distinct = list(dict.fromkeys(texts))
    found: dict[str, Vector] = {}
    for batch, result in embed_in_batches(mill, distinct, input_type):
        if result.model != model:
            raise WrongUse(f"--model: the workers embed with {result.model!r}, not with {model!r}")
        found |= {text: result.embedding(str(number)) for number, text in enumerate(batch)}
    return found


def embed_in_batches(
    mill: Querymill, texts: Sequence[str], input_type: Literal["query", "passage"]
) -> Iterator[tuple[Sequence[str], EmbedResult]]:
    """Embed texts one job after the other; yield each batch with its result."""
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        asked = [TextToEmbed(id=str(number), text=text) for number, text in enumerate(batch)]
        request = EmbedTexts(collection=COLLECTION, lane=Lane.NORMAL, texts=tuple(asked), input_type=input_type)
        yield batch, mill.submit(request).result(timeout=TIMEOUT_S)
