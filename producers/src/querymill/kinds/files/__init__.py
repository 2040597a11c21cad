"""The `files` kind: a code base, searched in rounds."""

from typing import Final

from querymill.kinds.files.comparing import ingest_tree
from querymill.kinds.files.demo import STEPS
from querymill.kinds.files.lines import LINES
from querymill.kinds.files.load import load
from querymill.kinds.files.options import options
from querymill.kinds.files.screen import follow, show
from querymill.kinds.kind import Kind
from querymill_shared.contracts.files.search import FileResult, FileSearch

KIND: Final = Kind(
    "files",
    FileSearch,
    FileResult,
    options=options,
    show=show,
    ingest=load,
    demo=STEPS,
    follow=follow,
    lines=LINES,
    tree=ingest_tree,
)
