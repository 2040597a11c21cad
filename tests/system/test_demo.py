"""Every step of the demo, on the servers of the tests and a scripted model."""

import io
import re

from querymill.cli.demo import sample_folder, show_everything
from querymill.cli.terminal import Console
from querymill.client import Querymill
from tests.fakes.worker import WorkerProcess


def test_every_step_is_shown_and_finds_something(mill: Querymill, worker: WorkerProcess) -> None:
    del worker
    printed = io.StringIO()
    shown = show_everything(mill, sample_folder(), Console(file=printed, width=160))
    assert re.findall(r"^(\d)\. ", printed.getvalue(), re.MULTILINE) == list("23456789")
    assert {type(result).__name__ for result in (*shown.reports, *shown.others)} == {
        "ReportResult", "ModuleResult", "MessageResult", "ConversationResult", "FileResult", "RerankResult",
        "EmbedResult",
    }  # fmt: skip
    assert all(result.results for result in shown.reports)
    assert "kombu/transport/virtual/base.py" in printed.getvalue()
    # The code's vectors follow in jobs nobody waits for; the next test counts what the model server is asked.
    for job in mill.recent(most=200):
        if job.picture().record.kind == "embed_files":
            job.result(timeout=60)
