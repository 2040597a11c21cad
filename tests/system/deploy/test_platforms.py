"""The image can be built for both processors: each package of its lock has a wheel for each."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.containers import ROOT


@pytest.mark.nightly  # it asks the package index
@pytest.mark.parametrize("processor", ["aarch64", "x86_64"])
def test_every_package_has_a_wheel(processor: str, tmp_path: Path) -> None:
    lock = ROOT / "deploy" / "image" / "requirements.lock"
    uv = [str(Path(sys.executable).with_name("uv")), "--system-certs"]
    done = subprocess.run(
        [
            *uv, "pip", "install", "--dry-run", "--target", str(tmp_path), "--python-version", "3.13",
            "--python-platform", f"{processor}-manylinux_2_28", "--only-binary", ":all:", "--no-deps",
            "--require-hashes", "--requirement", str(lock),
        ],
        capture_output=True, text=True, timeout=170, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "psycopg-binary" in done.stderr
