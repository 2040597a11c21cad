"""The demo's step on code: a question about two installed packages, searched in rounds that are shown live."""

from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

from querymill.cli.progress import with_bar
from querymill.cli.terminal import Console
from querymill.client import Querymill
from querymill.evaluation.file_sets import batches
from querymill.ingestion import GoodLine
from querymill.kinds.files.screen import follow_rounds, show_files
from querymill_shared.contracts.files.ingest import LARGEST_FILE, IngestFiles, SourceFile
from querymill_shared.contracts.files.search import FileResult, FileSearch

COLLECTION: Final = "demo-code"
#: Celery hands its messages to kombu, whose transports restore what was not acknowledged: the answer is there.
PARTS: Final = (("celery", "worker"), ("kombu", "transport"))
ASKED: Final = FileSearch(
    query="where are unacknowledged messages restored?", collection=COLLECTION, context_budget=3_000
)


def search_packages(mill: Querymill, console: Console) -> list[FileResult]:
    """Take the source of Celery's worker and of kombu's transports in, ask, and show the rounds and the files."""
    files = tuple(file for package, folder in PARTS for file in sources(package, folder))
    lines = [
        GoodLine(number, sum(len(one.content) for one in batch), IngestFiles(collection=COLLECTION, files=tuple(batch)))
        for number, batch in enumerate(batches(files), start=1)
    ]
    with_bar(mill, lines, console, size=sum(line.size for line in lines))
    console.print(
        f"   {len(files)} files of celery.worker and kombu.transport, as installed here; their vectors follow unasked\n"
    )
    job = mill.submit(ASKED)
    follow_rounds(console, ASKED.query, job.events(timeout=ASKED.deadline + 10))
    result = job.result(timeout=5)
    console.print()
    show_files(console, result, most=5)
    return [result]


def sources(package: str, folder: str) -> Iterator[SourceFile]:
    """Read the Python files of an installed package, by paths that begin with its name."""
    root = Path(str(distribution(package).locate_file(package)))
    for path in sorted((root / folder).rglob("*.py")):
        if 0 < path.stat().st_size < LARGEST_FILE:
            content = path.read_text(encoding="utf-8", errors="replace")
            yield SourceFile(path=f"{package}/{path.relative_to(root).as_posix()}", content=content)
