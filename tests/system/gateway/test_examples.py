"""The examples that use HTTP alone, run as their readers would run them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "producers" / "examples"
NODE = shutil.which("node")


@pytest.mark.nightly  # by day: test_typescript.py
@pytest.mark.skipif(NODE is None, reason="Node is not installed")
def test_a_backend_in_node_asks_follows_and_prints_the_hits(gateway: str, filings: str) -> None:
    def ask(collection: str, query: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(NODE), str(EXAMPLES / "http_node" / "ask.mjs"), collection, query],
            env=os.environ | {"QUERYMILL_URL": gateway}, capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    asked = ask(filings, "what was the revenue of Nordhav in 2022?")
    assert asked.returncode == 0, asked.stderr
    lines = asked.stdout.splitlines()
    assert [line.split()[0] for line in lines if "  " not in line][-1] == "done"
    assert "Nordhav" in next(line for line in lines if "  " in line)
    wrong = ask(filings, " ")
    assert wrong.returncode == 1
    assert "query:" in wrong.stderr
