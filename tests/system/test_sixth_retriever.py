"""The page in CONTRIBUTING.md on adding a retriever, followed word for word in a copy of the tree.

The page holds the diff of a real sixth retriever. Here it is applied, checked by mypy, and asked a question; then each
file that it edits is left out in turn, and something must notice.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("shared/src", "producers/src", "workers/src")
PACKAGES = ("querymill_shared", "querymill", "querymill_workers")
#: Tests that know what the type checker cannot: that nothing of a folder is forgotten.
GUARDS = (
    "tests/unit/shared/contracts/test_jobs.py",
    "tests/unit/producers/cli/kinds/test_registration.py",
    "tests/unit/producers/test_exports.py",
)
MOST_EDITED = 6

ASK = """
from querymill.testing import MemoryMill
from querymill_shared.contracts.notes.ingest import IngestNote, Note
from querymill_shared.contracts.notes.search import NoteSearch

with MemoryMill() as mill:
    for note_id, text in (("a", "the kettle is in the pantry"), ("b", "the ladder is in the shed")):
        note = Note(note_id=note_id, text=text)
        mill.submit(IngestNote(collection="home", note=note)).result(timeout=60)
    result = mill.submit(NoteSearch(query="where is the ladder", collection="home")).result(timeout=60)
print(result.results[0].note_id, result.results[0].text)
"""


def diffs() -> dict[str, str]:
    """Read the page's diff, file by file."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (diff,) = re.findall(r"^```diff\n(.*?)^```$", page, re.M | re.S)
    parts = re.split(r"^(?=diff --git )", diff, flags=re.M)
    return {part.split(" b/", 1)[1].splitlines()[0]: part for part in parts if part}


DIFFS = diffs()
EDITED = [path for path, diff in DIFFS.items() if "\nnew file mode" not in diff]


def run(tree: Path, *command: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(str(tree / source) for source in SOURCES)
    environment = os.environ | {"PYTHONPATH": f"{paths}{os.pathsep}{tree}", "MYPYPATH": ""}
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


def apply(tree: Path, diff: str, *options: str) -> None:
    done = subprocess.run(["git", "apply", *options], cwd=tree, input=diff, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def type_errors(tree: Path) -> str:
    packages = [part for package in PACKAGES for part in ("-p", package)]
    return run(tree, sys.executable, "-m", "mypy", "--no-error-summary", *packages).stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the sources and the guards, with the sixth retriever."""
    copy = tmp_path_factory.mktemp("sixth")
    for source in SOURCES:
        shutil.copytree(ROOT / source, copy / source, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    for needed in (*GUARDS, "tests/__init__.py", "tests/fixtures/__init__.py", "tests/fixtures/options.py"):
        (copy / needed).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / needed, copy / needed)
    settings = (ROOT / "pyproject.toml").read_text()
    (copy / "pyproject.toml").write_text(re.sub(r"^packages = .*$", "", settings, flags=re.M))
    apply(copy, "".join(DIFFS.values()))
    # What `make check` has found out of these sources is still true: mypy looks at contents, not at places.
    if (known := ROOT / ".mypy_cache").exists():
        shutil.copytree(known, copy / ".mypy_cache")
    yield copy
    shutil.rmtree(copy)


def test_a_retriever_edits_few_files_that_exist() -> None:
    assert 0 < len(EDITED) <= MOST_EDITED


@pytest.mark.timeout(600)
def test_the_page_is_right(tree: Path) -> None:
    assert type_errors(tree) == ""
    guarded = run(tree, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *GUARDS)
    assert guarded.returncode == 0, guarded.stdout
    answered = run(tree, sys.executable, "-c", ASK)
    assert answered.stdout == "b the ladder is in the shed\n", answered.stderr


@pytest.mark.parametrize("path", EDITED)
def test_an_edit_that_is_left_out_is_noticed(tree: Path, path: str) -> None:
    apply(tree, DIFFS[path], "--reverse")
    try:
        noticed = type_errors(tree)
        if not noticed:
            guarded = run(tree, sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *GUARDS)
            assert guarded.returncode != 0, f"{path}: nobody noticed"
    finally:
        apply(tree, DIFFS[path])
