"""``querymill replay``: ask the searches of a day again with other settings, and compare what comes of it."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer

from querymill.cli.exits import Exit, WrongUse, why_unusable
from querymill.cli.progress import progress_bar
from querymill.cli.terminal import Console, echo
from querymill.client.mill import Querymill
from querymill.ingesting.jsonl import BadLine
from querymill.presenting.numbers import quantity
from querymill_evaluation.cli.asking_again import Judgements, LeftOut, ask_again, to_ask
from querymill_evaluation.cli.measuring import parse_option
from querymill_evaluation.cli.record import LATEST, REPLAY, latest_searches
from querymill_evaluation.recordings import RecordedSearch, read_recording
from querymill_evaluation.replays import ReplayedSearch, as_figures, compare_searches, in_words
from querymill_evaluation.sets import sample_key

#: Of what is left out for the same reason, so many are named.
_NAMED: Final = 3
T = TypeVar("T")


def replay(
    path: Annotated[
        Path | None,
        typer.Argument(help="a recording (see `querymill record`); without it, the searches that are on the board"),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="field of every search, as name=value; may be repeated")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="number of searches to ask, the same each time (default: all)")
    ] = None,
    in_flight: Annotated[int, typer.Option(min=1, max=64, help="searches under way at a time")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Ask recorded searches again, and compare: hits, time, models, cost, and nDCG where somebody judged the hits.

    With --option each search is asked twice, as it was and with the options. Without it, each is asked once, and
    compared with what it found when it was recorded, by the settings and with the documents of that day. Nothing but
    searches is asked again.
    """
    options, say = dict(parse_option(text) for text in option or ()), Console(stderr=True)
    with Querymill() as mill:
        known, unread = _parted(_read(mill, path))
        chosen = sorted(known, key=lambda search: sample_key(search.id))[:limit]
        judgements = Judgements(mill)
        searches, unfit = _parted(to_ask(search, options, judgements) for search in chosen)
        _name(unread + unfit, say)
        if not searches:
            raise WrongUse(f"path: {path or 'the board'} holds no search that can be asked again so")
        asked = ask_again(mill.labelled({REPLAY: "yes"}), searches, in_flight=in_flight)
        compared, failed = _parted(_shown(asked, len(searches), say))
    _name(failed, say)
    counts = {"left_out": len(unread) + len(unfit), "failed": len(failed)}
    if compared:
        _tell(compared, options, counts, as_json=as_json)
    if any(each.is_fault for each in (*unread, *unfit, *failed)):
        raise typer.Exit(Exit.FAILED)


def _read(mill: Querymill, path: Path | None) -> Iterator[RecordedSearch | LeftOut]:
    if path is None:
        yield from latest_searches(mill, LATEST, known=set())
        return
    try:
        for read in read_recording(path):
            yield LeftOut(f"line {read.number}", read.reason) if isinstance(read, BadLine) else read
    except OSError as error:
        raise WrongUse(f"path: {why_unusable(error)}") from error


def _parted(found: Iterable[T | LeftOut]) -> tuple[list[T], list[LeftOut]]:
    """Part what is used from what is left out."""
    good, left_out = list[T](), list[LeftOut]()
    for each in found:
        if isinstance(each, LeftOut):
            left_out.append(each)
        else:
            good.append(each)
    return good, left_out


def _name(left_out: Sequence[LeftOut], say: Console) -> None:
    """Name what is left out: each reason once."""
    names: dict[tuple[str, str], list[str]] = {}
    for each in left_out:
        names.setdefault((each.reason, "red" if each.is_fault else "yellow"), []).append(each.name)
    for (reason, style), those in names.items():
        others = f" and {len(those) - _NAMED:,} others" if len(those) > _NAMED else ""
        say.print(f"{', '.join(those[:_NAMED])}{others}: {reason}", style=style, markup=False)


def _shown(asked: Iterable[T], total: int, say: Console) -> Iterator[T]:
    with progress_bar(console=say) as bar:
        task = bar.add_task("asking", total=total)
        for each in asked:
            yield each
            bar.advance(task)


def _tell(
    compared: Sequence[ReplayedSearch], options: Mapping[str, Any], counts: Mapping[str, int], *, as_json: bool
) -> None:
    found = compare_searches(sorted(compared, key=lambda search: search.id))
    if as_json:
        beside = {"compared_with": "unchanged" if options else "recorded", "options": dict(options), **counts}
        echo(json.dumps(as_figures(found) | beside, ensure_ascii=False))
        return
    given = ", ".join(f"{name}={value}" for name, value in options.items())
    sides = f"as it was, then with {given}" if given else "as it was recorded, then now"
    echo(f"{quantity(found.searches, 'searches')}, each {sides}.")
    for sentence in in_words(found):
        echo(sentence)
