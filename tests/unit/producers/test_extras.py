"""What needs a library of an extra says in one line what to install."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from querymill.install_hints import install_hint
from querymill_histories.compressed import INSTALL_HINT
from tests.fixtures.short_forms import all_at_night

LACKING = {
    "kombu": (("jobs",), f"a CELERY_BROKER_URL other than REDIS_URL needs kombu; {install_hint('broker')}"),
    "watchfiles": (
        ("ingest", "reports", ".", "--collection", "c", "--watch"),
        f"--watch needs watchfiles; {install_hint('watch')}",
    ),
    "zstandard": (
        ("ingest", "reports", "a.jsonl.zst", "--collection", "c"),
        f"a .zst file needs zstandard; {INSTALL_HINT}",
    ),
}


@pytest.mark.parametrize("library", all_at_night(LACKING, short=["watchfiles"]))
def test_a_command_that_lacks_a_library_says_what_to_install(library: str, tmp_path: Path) -> None:
    command, said = LACKING[library]
    (tmp_path / "a.jsonl.zst").write_bytes(b"")
    lacking = f"import sys; sys.modules[{library!r}] = None; sys.argv[1:] = {[*command]!r}"
    code = f"{lacking}; import querymill_command; querymill_command.main()"
    broker = "amqp://127.0.0.1:1//" if library == "kombu" else "redis://127.0.0.1:1/0"
    services = {"REDIS_URL": "redis://127.0.0.1:1/0", "CELERY_BROKER_URL": broker, "COLUMNS": "200"}
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | services,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2, run.stderr
    assert run.stderr.splitlines()[-1].endswith(said)
    assert "Traceback" not in run.stderr
