"""Documents that are followed: what of them was left out is told with each round."""

import os
from pathlib import Path

from querymill.ingesting.kinds import loadable_named
from querymill.ingesting.sources.documents import DocumentFeed, DocumentOptions, LoadedFiles
from querymill.testing import MemoryMill
from querymill.watch.documents import DocumentFollower
from querymill.watch.sessions import WatchReport
from querymill_reading.process import FileReader


def test_a_round_tells_what_was_left_out_of_a_document(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p>Nine ships</p><nav>Home</nav>")
    os.utime(page, (1, 1))
    lines = loadable_named("reports").documents
    with MemoryMill() as mill, FileReader() as reader:
        feed = DocumentFeed(mill, reader, lines, "c", DocumentOptions({}), LoadedFiles(), tmp_path)
        told = WatchReport()
        DocumentFollower([str(page)], feed).take({page}, told)
    assert (told.counts, told.failures) == ({"ingested": 1}, [])
    assert told.remarks == [(str(page), "1 navigation: left out")]
