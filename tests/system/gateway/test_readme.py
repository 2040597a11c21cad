"""The commands of the README, run as they stand there."""

import re
import subprocess
from pathlib import Path

from tests.fakes.worker import WorkerProcess

README = Path(__file__).parents[3] / "README.md"
ADDRESS = "http://127.0.0.1:8080"


def test_the_curl_commands_do_what_their_comments_say(gateway: str, worker: WorkerProcess) -> None:
    (script,) = re.findall(r"^```sh\n(H=.*?)^```$", README.read_text(encoding="utf-8"), re.M | re.S)
    assert ADDRESS in script
    # The document is searched before its vectors are there, too; but it has to be stored.
    shown = 'curl -fsS "$H/v1/collections/filings/reports/n22" > /dev/null 2>&1'
    waits = f'for _ in $(seq 450); do {shown} && break; sleep 0.2; done; curl -sS "$H/v1/jobs?collection=filings"'
    lines = (
        script.replace(ADDRESS, gateway)
        .replace("filings", "readme")
        .replace("# Ask,", f"{waits.replace('filings', 'readme')}\n# Ask,")
    )
    done = subprocess.run(["bash", "-euc", lines], capture_output=True, text=True, timeout=170)
    assert done.returncode == 0, done.stderr
    for said in ('"accepted":1', "The fleet counts nine ships.", "event: done", '"outcome":"forgotten"'):
        assert said in done.stdout, done.stdout
    assert '"status":4' not in done.stdout
