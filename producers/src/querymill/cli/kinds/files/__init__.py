"""The `files` kind: a code base, searched in rounds."""

from typing import Final

from querymill.cli.kind import Kind
from querymill.cli.kinds.files.demo import STEPS
from querymill.cli.kinds.files.load import load
from querymill.cli.kinds.files.screen import follow, show
from querymill.ingesting.kinds.files import KIND as LOADABLE
from querymill_shared.contracts.files.search import FileResult, FileSearch

HELP: Final = "Search a code base in rounds; shows each round live, then the files, why, and what it cost."

KIND: Final = Kind(
    LOADABLE,
    FileSearch,
    FileResult,
    help=HELP,
    flags={"patterns": "--pattern", "globs": "--glob"},
    show=show,
    load=load,
    demo=STEPS,
    follow=follow,
)
