"""A folder of mixed files with ten hostile ones: it ends, names the ten, and loads the rest."""

import io
from pathlib import Path

from querymill.cli.ingest_documents import loaded
from querymill.cli.terminal import Console
from querymill.ingesting.kinds.reports import LINES
from querymill.ingesting.sources.documents import DocumentOptions
from querymill.testing import MemoryMill
from querymill_reading.document import ReadLimits
from querymill_reading.process import FileReader
from tests.fixtures.mixed_documents import HOSTILE, write_mixed

FILES = 50
#: The process that reads is ended where it needs more, so a file that needs more would be refused.
LIMITS = ReadLimits(unpacked_bytes=4 << 20, memory_bytes=1 << 29)


def test_ten_hostile_files_of_fifty_are_named_and_the_rest_is_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    write_mixed(folder, FILES, bomb_bytes=5 << 20)
    with MemoryMill() as mill, FileReader(LIMITS) as reader:
        done = loaded(mill, reader, LINES, [str(folder)], "mixed", DocumentOptions({}), Console(file=io.StringIO()))
        stored = mill.list("reports", collection="mixed").total
    named = {left.place.removeprefix(f"{folder}/"): left.reason for left in done.failures}
    assert named.keys() == HOSTILE.keys()
    assert all(HOSTILE[place] in reason for place, reason in named.items()), named
    assert (done.outcomes("ingested"), stored) == (
        FILES - 10 + 1,
        FILES - 10 + 1,
    )  # one was beside a path that leads out
    assert not list(tmp_path.rglob("out.txt"))
