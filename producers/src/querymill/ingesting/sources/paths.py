"""What a client does with a path: it is recognised as on the command line, and what became of each file is counted."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from glob import has_magic
from pathlib import Path
from typing import Any

from querymill.ingesting.jsonl import BadLine, GoodLine, Lines
from querymill.ingesting.loadable import Loadable
from querymill.ingesting.outcomes import Ingestion
from querymill.ingesting.path_options import OF_DOCUMENTS, OF_FILES, OF_HISTORIES, PathOptions, UnreadPath, UnusablePath
from querymill.ingesting.sources import documents, histories
from querymill.ingesting.sources.comparing import ingest_tree
from querymill.ingesting.sources.histories import HistoryOptions
from querymill.ingesting.sources.lines import are_lines, plain_file
from querymill.ingesting.submitting import LoadProgress, Stores, Submits, ingest, pack
from querymill_histories.compressed import open_plain
from querymill_histories.finding import why_unknown
from querymill_histories.session import UnreadPlace
from querymill_reading.process import FileReader
from querymill_reading.sources import LeftOut

Tell = Callable[[LoadProgress | BadLine | UnreadPath], None]


def load_path(mill: Stores, kind: Loadable, path: str, collection: str, options: PathOptions, tell: Tell) -> Ingestion:
    """Ingest what is at a path; see `LoadCalls.ingest`.

    Raises:
        FileNotFoundError: There is nothing at the path.
        UnusablePath: Nothing there can be loaded, or an option breaks a rule or is not for this.
    """
    if not Path(path).exists() and not (kind.reads_documents and has_magic(path)):
        raise FileNotFoundError(f"path: {path}: no such file")
    as_documents = kind.reads_documents and not are_lines(path)
    refuse_foreign(kind, options, as_documents=as_documents)
    told = HistoryOptions(options.origin, options.tools, options.time_zone)
    if as_documents:
        return _load_documents(mill, kind.documents, path, collection, options, tell)
    if kind.reads_histories and histories.are_histories([path], told):
        return _load_histories(mill, kind.documents, path, collection, told, tell)
    if kind.reads_code_bases:
        with plain_file(Path(path)) as plain:
            asked = {"include_secrets": options.include_secrets, "vectors": options.vectors}
            return ingest_tree(mill, plain, collection, tell, **asked)
    done = _load_lines(mill, kind.documents, path, collection, tell)
    if kind.reads_histories and done.outcomes.keys() <= {"bad"}:
        _note(UnreadPath(path, f"no line that can be loaded; as a history: {why_unknown(Path(path))}"), done, tell)
    return done


def refuse_foreign(kind: Loadable, options: PathOptions, *, as_documents: bool) -> None:
    """Refuse the options that say nothing about what is loaded.

    Raises:
        UnusablePath: There is one; the message says what it is for.
    """
    if (options.fields or options.sync or options.ocr) and not as_documents:
        raise UnusablePath(OF_DOCUMENTS)
    if (options.origin or options.tools or options.time_zone) and not kind.reads_histories:
        raise UnusablePath(OF_HISTORIES)
    if (options.include_secrets or options.vectors) and not kind.reads_code_bases:
        raise UnusablePath(OF_FILES)


def _load_documents(
    mill: Stores, lines: Lines[Any], path: str, collection: str, options: PathOptions, tell: Tell
) -> Ingestion:
    done, read = Ingestion(), documents.LoadedFiles()

    def leave_out(left: LeftOut) -> None:
        _note(UnreadPath(left.place, left.reason, left.failed), done, tell)

    asked = documents.DocumentOptions.of(options)
    with tempfile.TemporaryDirectory(prefix="querymill-") as made, FileReader() as reader:
        folder = Path(made)
        found, roots = documents.found_at([path], folder)
        feed = documents.DocumentFeed(mill, reader, lines, collection, asked, read, folder, on_left_out=leave_out)
        feed.learn_what_is_stored(found, roots)
        for advance in ingest(mill, pack(feed.lines_of(found), lines.asking(collection))):
            known = None
            if advance.document is not None:
                # A document is known to the caller by its file. What was read of it is no longer needed.
                document = read.documents.pop(advance.document)
                known = document["source"]
                done.add_remarks(known, document["remarks"])
            _advance(replace(advance, document=known), done, tell)
        if not done.outcomes.keys() - {"unread", "left out"} and not read.unchanged and feed.missing:
            raise UnusablePath(f"path: {path}: {feed.missing}")
        if options.sync:
            feed.drop_removed(roots)
    done.outcomes.update(unchanged=read.unchanged, dropped=read.dropped)
    done.outcomes = +done.outcomes
    return done


def _load_histories(
    mill: Submits, lines: Lines[Any], path: str, collection: str, options: HistoryOptions, tell: Tell
) -> Ingestion:
    done = Ingestion()
    only, asked, tools = options.format(), options.asked(), options.shown()

    def leave_out(unread: UnreadPlace) -> None:
        _note(UnreadPath(unread.place, unread.reason), done, tell)

    with tempfile.TemporaryDirectory(prefix="querymill-") as folder:
        found = histories.found_at([path], only, Path(folder))
        for unread in found.unread:
            leave_out(unread)
        for unknown in found.unknown:
            _note(UnreadPath(found.shown(str(unknown)), why_unknown(unknown), failed=False), done, tell)
        feed = histories.HistoryFeed(lines, asked, tools, leave_out)
        for advance in ingest(mill, pack(feed.sessions_of(found), lines.asking(collection))):
            _advance(advance, done, tell)
        for remark in feed.remarks():
            _note(UnreadPath(remark.place, remark.reason, failed=False), done, tell)
        if missing := feed.missing(found, is_named=True):
            _note(UnreadPath(path, missing), done, tell)
    return done


def _load_lines(mill: Submits, lines: Lines[Any], path: str, collection: str, tell: Tell) -> Ingestion:
    done = Ingestion()

    def good() -> Any:
        with open_plain(Path(path)) as stream:
            for line in lines.read_stream(stream):
                if isinstance(line, GoodLine):
                    yield line
                else:
                    done.add_bad(line)
                    tell(line)

    for advance in ingest(mill, pack(good(), lines.asking(collection))):
        _advance(advance, done, tell)
    return done


def _advance(advance: LoadProgress, done: Ingestion, tell: Tell) -> None:
    if advance.document is not None:
        done.add(advance)
    tell(advance)


def _note(unread: UnreadPath, done: Ingestion, tell: Tell) -> None:
    done.add_unread(unread)
    tell(unread)
