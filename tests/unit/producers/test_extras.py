"""What needs a library of an extra says in one line what to install."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from querymill.install_hints import install_hint

LACKING = {
    "broker": ("celery", ("jobs",), "a CELERY_BROKER_URL other than REDIS_URL needs celery"),
    "watch": ("watchfiles", ("ingest", "reports", ".", "--collection", "c", "--watch"), "--watch needs watchfiles"),
    "zstd": ("zstandard", ("ingest", "reports", "a.jsonl.zst", "--collection", "c"), "a .zst file needs zstandard"),
}


@pytest.mark.parametrize("extra", LACKING)
def test_a_command_that_lacks_a_library_names_the_extra(extra: str, tmp_path: Path) -> None:
    library, command, said = LACKING[extra]
    (tmp_path / "a.jsonl.zst").write_bytes(b"")
    lacking = f"import sys; sys.modules[{library!r}] = None; sys.argv[1:] = {[*command]!r}"
    code = f"{lacking}; import querymill_command; querymill_command.main()"
    broker = "amqp://127.0.0.1:1//" if extra == "broker" else "redis://127.0.0.1:1/0"
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
    assert run.stderr.splitlines()[-1].endswith(f"{said}; {install_hint(extra)}")
    assert "Traceback" not in run.stderr
