"""``querymill ingest KIND --watch``: ingest what changes, until Ctrl-C."""

import json
import os
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final

import typer

from querymill.cli.exits import WrongUse
from querymill.cli.kind import Kind
from querymill.cli.labels import labelled_mill
from querymill.cli.terminal import Console, echo
from querymill.client.mill import Querymill
from querymill.ingesting.ingestion_log import BatchRecord, recorded
from querymill.ingesting.jsonl import STDIN
from querymill.ingesting.sources.documents import DocumentFeed, DocumentOptions, LoadedFiles
from querymill.ingesting.sources.histories import HistoryOptions
from querymill.watch.documents import DocumentFollower, TreeFollower
from querymill.watch.histories import HistoryFollower, Spot
from querymill.watch.lines import LineFollower
from querymill.watch.rounds import Follower, follow
from querymill.watch.sent import SentLog, sent_path
from querymill.watch.sessions import SessionSender, WatchReport
from querymill.watch.several import Several
from querymill_histories.files import head_of
from querymill_histories.finding import format_of, places
from querymill_histories.formats import FORMATS
from querymill_reading.archives import is_archive
from querymill_reading.process import FileReader
from querymill_shared.settings import Settings
from querymill_shared.urls import mask

#: What a round counts, in the order in which it is printed.
_COUNTED: Final = (
    "grown", "ingested", "unchanged", "superseded", "forgotten", "dropped", "compared", "messages", "files",
)  # fmt: skip
#: Remarks of a round that are printed, and those that ``--json`` has.
REMARKED, NAMED = 20, 1_000


@dataclass(frozen=True, slots=True)
class Watching:
    """What a caller wants to be followed."""

    kind: Kind[Any]
    paths: Sequence[str]
    collection: str
    documents: DocumentOptions
    histories: HistoryOptions
    as_json: bool
    include_secrets: bool = False
    vectors: bool = False


def watch(asked: Watching, *, as_documents: bool, as_histories: bool) -> None:
    """Follow files until Ctrl-C or SIGTERM.

    Raises:
        WrongUse: There is nothing to follow.
        AlreadyFollowed: Another process follows it into the same collection.
    """
    _refuse_missing(asked)
    console, total = Console(stderr=True), Counter[str]()
    with ExitStack() as stack:
        connected = stack.enter_context(labelled_mill())
        mill, record = stack.enter_context(recorded(connected, asked.kind.name, asked.collection))
        if as_documents:
            follower: Follower = _documents(asked, mill, stack)
        elif asked.kind.load is None:
            sent = stack.enter_context(SentLog(_state_of(asked)))
            if asked.kind.name not in mill.collections().get(asked.collection, ()):
                sent.forget()
            follower = _lines_and_histories(asked, mill, sent, as_histories=as_histories)
        else:
            follower = _tree(asked)
        stop = stack.enter_context(stopping())
        console.print(f"following {', '.join(asked.paths) or 'the places of the tools'}; Ctrl-C stops it", markup=False)
        follow(follower, stop, _teller(asked, console, total, record), lambda said: console.print(said, style="yellow"))
    did = ", ".join(f"{total[name]} {name}" for name in _COUNTED if total[name]) or "nothing new"
    console.print(f"Stopped: {did}. The same command resumes from here.")


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """Give an event that the first Ctrl-C or SIGTERM sets. A second Ctrl-C interrupts, as without this."""
    stop = threading.Event()

    def ask(number: int, _: FrameType | None) -> None:
        if stop.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _refuse_missing(asked: Watching) -> None:
    if str(STDIN) in asked.paths:
        raise WrongUse("--watch: standard input cannot be followed")
    for path in asked.paths:
        if is_archive(path) and not asked.kind.loadable.reads_documents:
            raise WrongUse(f"--watch: {path}: an archive does not grow; leave out --watch")
        if not Path(path).exists() and not asked.kind.loadable.reads_documents:
            raise WrongUse(f"path: {path}: no such file")


def _state_of(asked: Watching) -> Path:
    histories = asked.histories
    return sent_path({
        "board": mask(Settings().redis_url), "kind": asked.kind.name, "collection": asked.collection,
        "paths": sorted(str(Path(path).absolute()) for path in asked.paths),
        "near": None if asked.paths else str(Path.cwd()),
        "options": [histories.origin, histories.tools, histories.time_zone],
    })  # fmt: skip


def _lines_and_histories(asked: Watching, mill: Querymill, sent: SentLog, *, as_histories: bool) -> Follower:
    lines = asked.kind.loadable.documents
    sender = SessionSender(mill, lines, asked.collection, sent)
    paths = [Path(path).absolute() for path in asked.paths]
    if not as_histories:
        return LineFollower(paths, mill, lines, asked.collection, sender, sent)
    only, known = asked.histories.format(), asked.histories.asked()
    history = HistoryFollower(lambda: _spots(paths, only), known, asked.histories.shown(), sender, sent)
    if not history.find_spots():
        raise WrongUse("path: none given, and nothing in the places where the tools keep their histories")
    folders = [path for path in paths if path.is_dir()]
    if only is not None or not folders:
        return history
    own = LineFollower(folders, mill, lines, asked.collection, sender, sent, leaves_out=_is_history)
    return Several([history, own])


def _spots(paths: Sequence[Path], only: Any) -> list[Spot]:
    formats = FORMATS if only is None else (only,)
    if paths:
        return [Spot(path, formats, sure=only is not None and not path.is_dir()) for path in paths]
    found = places(formats, Path.home(), Path.cwd(), os.environ)
    return [Spot(path, (known,)) for known, path in found]


def _is_history(path: Path) -> bool:
    try:
        return format_of(head_of(path)) is not None
    except OSError:
        return True


def _documents(asked: Watching, mill: Querymill, stack: ExitStack) -> Follower:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="querymill-")))
    reader = stack.enter_context(FileReader())
    # It prints nothing by itself: every round is printed as a whole.
    feed = DocumentFeed(
        mill, reader, asked.kind.loadable.documents, asked.collection, asked.documents, LoadedFiles(), folder
    )
    follower = DocumentFollower(asked.paths, feed)
    found = list(follower.sources())
    if not follower.paths():
        raise WrongUse(f"path: {' '.join(asked.paths)}: no such file")
    feed.learn_what_is_stored(found, [str(path) for path in follower.paths() if path.is_dir()])
    return follower


def _tree(asked: Watching) -> Follower:
    if len(asked.paths) != 1:
        raise WrongUse(f"path: one for {asked.kind.name}")
    path = Path(asked.paths[0])
    load: Any = asked.kind.load
    options = {"as_json": asked.as_json, "include_secrets": asked.include_secrets, "vectors": asked.vectors}

    def compare() -> None:
        with suppress(typer.Exit):  # it has said what failed
            load(path, asked.collection, **options)

    return TreeFollower(path.absolute(), compare)


def _teller(
    asked: Watching, console: Console, total: Counter[str], record: BatchRecord
) -> Callable[[WatchReport], None]:
    def tell(told: WatchReport) -> None:
        total.update(told.counts)
        for place, reason in told.failures:
            console.print(f"{place}: {reason}", style="red", markup=False)
            record.refuse(reason, place=place)
        for place, remark in told.remarks[:REMARKED]:
            console.print(f"{place}: {remark}", style="yellow", markup=False)
        if len(told.remarks) > REMARKED:
            console.print(f"and {len(told.remarks) - REMARKED} more remarks", style="yellow")
        record.close()
        counts = {name: told.counts[name] for name in _COUNTED if told.counts[name]}
        failed = [{"document": place, "reason": reason} for place, reason in told.failures]
        if asked.as_json:
            remarks = [{"document": place, "remark": remark} for place, remark in told.remarks[:NAMED]]
            said = {"remarks": remarks} if remarks else {}
            echo(json.dumps({**counts, "failed": failed, **said}, ensure_ascii=False))
        elif counts.keys() - {"unchanged", "files", "compared"}:
            console.print(", ".join(f"{number} {name}" for name, number in counts.items()), markup=False)

    return tell
