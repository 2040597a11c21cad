"""A stack for the length of a `with` block, for tests, the demo and benchmarks."""

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from querymill_embedded.folders import data_folder_mode
from querymill_embedded.parts import ALL, Program, StackPart
from querymill_embedded.processes import this_process
from querymill_embedded.stack import Prepare, Stack


@contextmanager
def temporary_stack(
    *,
    parts: Collection[StackPart] = ALL,
    programs: Sequence[Program] = (),
    prepare: Prepare | None = None,
) -> Iterator[Stack]:
    """Start a stack in a new folder. Afterwards stop and remove it, even if the calling process is killed.

    Raises:
        StackError: a part cannot start.
    """
    data = Path(tempfile.mkdtemp(prefix="qm-"))
    data.chmod(data_folder_mode(os.geteuid()))
    stack = Stack(data, owner=this_process())
    try:
        stack.up(parts=parts, programs=programs, prepare=prepare)
        yield stack
    finally:
        try:
            stack.down()
        finally:
            shutil.rmtree(data, ignore_errors=True)
