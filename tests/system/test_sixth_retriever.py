"""A sixth retriever in a copy of the tree: its files stand in `sixth_retriever/`, its edits in `edits.toml`.

The copy is checked by mypy and asked a question. Then each edited file is left as it was in turn, and something must
notice.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SIXTH = Path(__file__).parent / "sixth_retriever"
SOURCES = ("shared/src", "producers/src", "workers/src")
PACKAGES = ("querymill_shared", "querymill", "querymill_workers")
NOT_COPIED = shutil.ignore_patterns("__pycache__", "node_modules")
#: Tests that know what the type checker cannot: that nothing of a folder is forgotten.
GUARDS = (
    "tests/unit/shared/contracts/test_jobs.py",
    "tests/unit/producers/cli/kinds/test_registration.py",
    "tests/unit/producers/test_exports.py",
)
#: What they need, and the retriever's own tests.
SUPPORT = ("tests/__init__.py", "tests/conftest.py", "tests/unit/conftest.py", "tests/fakes", "tests/fixtures")
OWN = "tests/unit/retrievers/notes"
MAX_EDITED = 6

ASK = """
from querymill.testing import MemoryMill
from querymill_shared.contracts.notes.ingest import IngestNotes, Note
from querymill_shared.contracts.notes.search import NoteSearch

with MemoryMill() as mill:
    for note_id, text in (("a", "the kettle is in the pantry"), ("b", "the ladder is in the shed")):
        note = Note(note_id=note_id, text=text)
        mill.submit(IngestNotes(collection="home", documents=(note,))).result(timeout=60)
    result = mill.submit(NoteSearch(query="where is the ladder", collection="home")).result(timeout=60)
print(result.results[0].note_id, result.results[0].text)
"""

EDITS: list[dict[str, str]] = tomllib.loads((SIXTH / "edits.toml").read_text(encoding="utf-8"))["edit"]
EDITED = list(dict.fromkeys(edit["file"] for edit in EDITS))


def edit_file(tree: Path, file: str) -> None:
    """Insert what the retriever adds to a file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    for edit in EDITS:
        if edit["file"] == file:
            assert text.count(edit["after"]) == 1, f"{file}: {edit['after']!r} stands {text.count(edit['after'])} times"
            text = text.replace(edit["after"], edit["after"] + edit["insert"])
    (tree / file).write_text(text, encoding="utf-8")


def run(tree: Path, *command: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(str(tree / source) for source in SOURCES)
    environment = os.environ | {"PYTHONPATH": f"{paths}{os.pathsep}{tree}", "MYPYPATH": ""}
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


def run_tests(tree: Path, *tests: str) -> subprocess.CompletedProcess[str]:
    return run(tree, sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests)


def type_errors(tree: Path) -> str:
    packages = [part for package in PACKAGES for part in ("-p", package)]
    return run(tree, sys.executable, "-m", "mypy", "--no-error-summary", *packages).stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the sources and the guards, with the sixth retriever."""
    copy = tmp_path_factory.mktemp("sixth")
    for needed in (*SOURCES, *GUARDS, *SUPPORT):
        (copy / needed).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / needed).is_dir():
            shutil.copytree(ROOT / needed, copy / needed, ignore=NOT_COPIED)
        else:
            shutil.copy(ROOT / needed, copy / needed)
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (copy / "pyproject.toml").write_text(re.sub(r"^packages = .*$", "", settings, flags=re.M), encoding="utf-8")
    for folder in ("shared", "producers", "workers", "tests"):
        shutil.copytree(SIXTH / folder, copy / folder, ignore=NOT_COPIED, dirs_exist_ok=True)
    for file in EDITED:
        edit_file(copy, file)
    # What `make check` has found out of these sources is still true: mypy looks at contents, not at places.
    if (known := ROOT / ".mypy_cache").exists():
        shutil.copytree(known, copy / ".mypy_cache")
    yield copy
    shutil.rmtree(copy)


def test_a_retriever_edits_few_files_that_exist() -> None:
    assert 0 < len(EDITED) <= MAX_EDITED


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_the_sixth_retriever_works(tree: Path) -> None:
    assert type_errors(tree) == ""
    tested = run_tests(tree, *GUARDS, OWN)
    assert tested.returncode == 0, tested.stdout
    answered = run(tree, sys.executable, "-c", ASK)
    assert answered.stdout == "b the ladder is in the shed\n", answered.stderr


@pytest.mark.nightly
@pytest.mark.parametrize("file", EDITED)
def test_an_edit_that_is_left_out_is_noticed(tree: Path, file: str) -> None:
    shutil.copy(ROOT / file, tree / file)
    try:
        noticed = type_errors(tree)
        if not noticed:
            assert run_tests(tree, *GUARDS).returncode != 0, f"{file}: nobody noticed"
    finally:
        edit_file(tree, file)
