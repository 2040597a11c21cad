"""``querymill record``: keep the searches that are on the board in a file, with what they found."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from querymill.cli.bulk.appended_file import UnusableFile
from querymill.cli.exits import WrongUse, why_unusable
from querymill.cli.terminal import echo
from querymill.client.job import Job
from querymill.client.mill import Querymill
from querymill.presenting.numbers import quantity
from querymill_evaluation.recordings import ASKED_AGAIN, RecordedSearch, RecordingFile, recorded
from querymill_shared.contracts.errors import QuerymillError

#: The label of searches that a replay asks. They are not recorded: nobody asked them.
REPLAY: Final = "replay"
#: Of the latest jobs so many are looked at.
LATEST: Final = 10_000


def record(
    path: Annotated[Path, typer.Argument(help="the file of the recording; further searches are appended to it")],
    limit: Annotated[int, typer.Option(min=1, help="number of the latest jobs to look at")] = LATEST,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Append the searches that are done and still on the board to a file: what was asked, found and spent.

    Results stay on the board for an hour (QUERYMILL_RESULT_TTL_S). Run this more often than that, and the file holds
    the day. It holds what people asked: only you may read a file that is created.
    """
    try:
        with RecordingFile(path) as file, Querymill() as mill:
            appended = 0
            for search in latest_searches(mill, limit, known=file.held):
                file.append(search.line)
                appended += 1
            total = len(file.held) + appended
    except OSError as error:
        raise WrongUse(f"path: {why_unusable(error)}") from error
    except UnusableFile as error:
        raise WrongUse(f"path: {error}") from error
    said = f"{quantity(appended, 'searches')} recorded, {total:,} in {path}"
    echo(json.dumps({"recorded": appended, "total": total}) if as_json else said)


def latest_searches(mill: Querymill, limit: int, *, known: set[str]) -> Iterator[RecordedSearch]:
    """Yield the searches among the latest jobs that are done, the first one first, except those of known ids."""
    for job in reversed(mill.recent(limit=limit)):
        if job.id not in known and (search := _recorded(job)) is not None:
            yield search


def _recorded(job: Job[Any]) -> RecordedSearch | None:
    with suppress(QuerymillError, TimeoutError):  # it was let go meanwhile, or another release wrote it
        picture = job.picture()
        is_search = picture.record.kind in ASKED_AGAIN and picture.record.state == "done"
        if is_search and REPLAY not in picture.record.labels:
            return recorded(picture, job.result(timeout=5))
    return None
