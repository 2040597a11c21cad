"""The `files` kind: a code base, searched in rounds."""

from typing import Final

from querymill.cli.kind import Kind
from querymill.cli.kinds.files.demo import STEPS
from querymill.cli.kinds.files.load import load
from querymill.cli.kinds.files.options import options
from querymill.cli.kinds.files.screen import follow, show
from querymill.ingesting.kinds.files import KIND as LOADABLE
from querymill_shared.contracts.files.search import FileResult, FileSearch

KIND: Final = Kind(
    LOADABLE,
    FileSearch,
    FileResult,
    options=options,
    show=show,
    load=load,
    demo=STEPS,
    follow=follow,
)
