"""The demo's step on code: a question about two installed packages, searched in rounds that are shown live."""

from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

from querymill.cli.kind import DemoStep
from querymill.cli.kinds.files.screen import follow, show
from querymill.cli.progress import with_bar
from querymill.cli.terminal import Console
from querymill.client.mill import Querymill
from querymill.ingesting.kinds.files import LINES, lines_of
from querymill.ingesting.submitting import pack
from querymill_shared.contracts.files.ingest import MAX_FILE_BYTES, SourceFile
from querymill_shared.contracts.files.search import FileResult, FileSearch

COLLECTION: Final = "demo-code"
#: Celery leaves its messages to kombu, whose transports restore those that were not acknowledged.
PARTS: Final = (("celery", "worker"), ("kombu", "transport"))
ASKED: Final = FileSearch(
    query="where are unacknowledged messages restored?", collection=COLLECTION, context_budget=3_000
)


def search_packages(mill: Querymill, _sample: Path, console: Console) -> list[FileResult]:
    """Ingest the source of Celery's worker and of kombu's transports, ask, and show the rounds and the files."""
    files = tuple(file for package, folder in PARTS for file in sources(package, folder))
    lines = list(lines_of(files))
    with_bar(mill, pack(lines, LINES.asking(COLLECTION)), console, size=sum(line.size for line in lines))
    console.print(f"   {len(files)} files of celery.worker and kombu.transport, as installed here, without vectors\n")
    job = mill.submit(ASKED)
    follow(console, ASKED.query, job.events(timeout=ASKED.deadline + 10))
    result = job.result(timeout=5)
    console.print()
    show(console, result, limit=5)
    return [result]


def sources(package: str, folder: str) -> Iterator[SourceFile]:
    """Read the Python files of an installed package, by paths that begin with its name."""
    root = Path(str(distribution(package).locate_file(package)))
    for path in sorted((root / folder).rglob("*.py")):
        if 0 < path.stat().st_size < MAX_FILE_BYTES:
            content = path.read_text(encoding="utf-8", errors="replace")
            yield SourceFile(path=f"{package}/{path.relative_to(root).as_posix()}", content=content)


STEPS: Final = (DemoStep("A code base, searched in rounds: the source of two installed packages", search_packages),)
