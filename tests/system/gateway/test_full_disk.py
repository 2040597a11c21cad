"""Uploads to a gateway whose folder for them is full or missing: the caller is told, and JSON lines are taken."""

import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.fixtures import documents

AT = "/v1/collections/uploads/reports"
RAW = {"Content-Type": "application/pdf"}
#: More than the folder takes, and than a form keeps in memory.
LARGE = documents.pdf(documents.lines("Nordhav Annual Report 2022", "the tide turns at noon")) + b"\n" * 4_000_000
SMALL = documents.pdf(documents.lines("Nordhav Annual Report 2022", "the tide turns at noon"))


@contextmanager
def files_up_to(limit: int) -> Iterator[None]:
    """No file of this process grows beyond so many bytes: a write fails, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def send(http: httpx.Client, how: str, content: bytes) -> httpx.Response:
    if how == "form":
        return http.post(AT, files={"file": ("tides.pdf", content)})
    if how == "chunks":
        return http.post(AT, content=(content[at : at + 65_536] for at in range(0, len(content), 65_536)), headers=RAW)
    return http.post(AT, content=content, headers=RAW)


@pytest.mark.parametrize("how", ["raw", "chunks", "form"])
def test_a_document_that_the_disk_does_not_take_is_named_and_leaves_nothing(
    quiet_http: httpx.Client, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with files_up_to(2_000_000):
        answer = send(quiet_http, how, LARGE)
        small = send(quiet_http, how, SMALL)
    assert (answer.status_code, answer.json()["type"]) == (507, "/problems/no-room"), answer.text
    assert answer.headers["Retry-After"]
    assert small.status_code == 202, small.text
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("how", ["raw", "form"])
@pytest.mark.parametrize("folder", ["/proc", "/dev/null", "/no/such/folder"])
def test_a_gateway_without_a_folder_for_uploads_says_so_and_takes_lines(
    quiet_http: httpx.Client, how: str, folder: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", folder)
    answer = send(quiet_http, how, SMALL)
    assert (answer.status_code, answer.json()["type"]) == (507, "/problems/no-room"), answer.text
    assert folder not in answer.text
    assert "TMPDIR" in caplog.text
    line = b'{"sha1": "lines-1", "title": "Tides", "pages": [{"page": 1, "text": "the tide turns at noon"}]}\n'
    taken = quiet_http.post(AT, content=line, headers={"Content-Type": "application/x-ndjson"})
    assert taken.status_code == 202, taken.text
