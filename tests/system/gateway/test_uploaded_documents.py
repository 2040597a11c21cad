"""Documents that are uploaded as they are: read in a process of their own, and named by a problem if they cannot be."""

import asyncio
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from querymill.gateway.http import receiving
from querymill.gateway.http.readers import ReadingRoom
from querymill.gateway.http.receiving import Received
from querymill.keys import LOOPBACK_CALLER
from querymill_reading import process
from querymill_reading.child import INSTALL_HINT
from querymill_reading.document import EngineMissing, ReadLimits
from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.reports.ingest import IngestReports
from tests.fakes.worker import WorkerProcess
from tests.fixtures import documents
from tests.fixtures.gateways import PATIENCE_S
from tests.fixtures.tallies import until

AT = "/v1/collections/uploads/reports"
PDF = {"Content-Type": "application/pdf"}
TIDES = documents.pdf(documents.lines("Nordhav Annual Report 2022", "the tide turns at noon"), documents.lines("two"))


def asked(board: ValkeyBoard, http: httpx.Client, answer: httpx.Response) -> Any:
    """The report that an upload submitted."""
    assert answer.status_code == 202, answer.text
    (job_id,) = board.recent(limit=1)
    request = board.picture(job_id).asked
    assert isinstance(request, IngestReports)
    return request.documents[0]


def test_a_document_goes_in_as_it_is_and_its_text_is_stored(http: httpx.Client, worker: WorkerProcess) -> None:
    sent = http.post(AT, content=TIDES, headers=PDF, params={"name": "nordhav-2022.pdf", "company": "Nordhav AS"})
    assert (sent.status_code, sent.json()["accepted"]) == (202, 1), sent.text
    (told,) = sent.json()["documents"]
    assert (told["format"], told["pages"], told["company"], told["period"]) == ("pdf", 2, "Nordhav AS", "2022")
    until(lambda: http.get(sent.headers["Location"]).json()["jobs"] == {"done": 1}, within_s=PATIENCE_S)
    stored = http.get(f"{AT}/{told['id']}").json()
    assert "the tide turns at noon" in stored["pages"][0]["text"]
    assert (stored["title"], stored["source"]) == (told["title"], "nordhav-2022.pdf")


def test_a_damaged_part_costs_itself_and_the_answer_names_its_place(
    board: ValkeyBoard, quiet_http: httpx.Client, tmp_path: Path
) -> None:
    documents.write_xlsx(tmp_path / "a.xlsx")
    whole = quiet_http.post(AT, files={"file": ("tolls.xlsx", (tmp_path / "a.xlsx").read_bytes())})
    assert whole.json()["documents"][0]["remarks"] == []
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["docProps/core.xml"] = b"<lost"
    answer = quiet_http.post(AT, files={"file": ("tolls.xlsx", documents.zipped(members))})
    report = asked(board, quiet_http, answer)
    assert "| Tinn | 12.5 |" in report.pages[0].text
    (told,) = answer.json()["documents"]
    assert [remark.startswith("properties: ") for remark in told["remarks"]] == [True]


@pytest.mark.parametrize("named_by", ["media type", "name", "form"])
def test_the_media_type_or_the_name_says_what_it_is(
    board: ValkeyBoard, quiet_http: httpx.Client, tmp_path: Path, named_by: str
) -> None:
    documents.write_docx(tmp_path / "plan.docx")
    content = (tmp_path / "plan.docx").read_bytes()
    docx = next(media for media, suffix in receiving.SUFFIXES.items() if suffix == ".docx")
    match named_by:
        case "media type":
            answer = quiet_http.post(AT, content=content, headers={"Content-Type": docx})
        case "name":
            answer = quiet_http.post(
                AT, content=content, headers={"Content-Type": receiving.ANY}, params={"name": "C:\\plans\\plan.docx"}
            )
        case _:
            answer = quiet_http.post(AT, files={"file": ("plan.docx", content)}, params={"id": "plan-1"})
    report = asked(board, quiet_http, answer)
    assert report.model_extra["format"] == "docx"
    assert report.model_extra["source"] == ("document.docx" if named_by == "media type" else "plan.docx")
    again = {"media type": report.sha1, "name": report.sha1, "form": "plan-1"}[named_by]
    assert answer.json()["documents"][0]["id"] == again


def test_what_a_caller_says_stands_in_place_of_what_is_proposed(board: ValkeyBoard, quiet_http: httpx.Client) -> None:
    given = {"title": "Tides", "company": "Nordhav", "period": "2023 Q1", "published_at": "2023-05-20"}
    report = asked(board, quiet_http, quiet_http.post(AT, content=TIDES, headers=PDF, params=given))
    assert (report.title, report.company, report.period) == ("Tides", "Nordhav", "2023 Q1")
    assert report.published_at.isoformat() == "2023-05-20"
    same = asked(board, quiet_http, quiet_http.post(AT, content=TIDES, headers=PDF))
    assert (same.sha1, same.title == "Tides") == (report.sha1, False)


@pytest.mark.parametrize(
    ("content", "headers", "params", "status", "said"),
    [
        (documents.locked_pdf(), PDF, {}, 422, "encrypted"),
        (documents.pdf([]), PDF, {}, 422, "no text in it"),
        (b"%PDF-1.4 nothing", PDF, {}, 422, "broken"),
        (b"", PDF, {}, 422, "empty"),
        (documents.zipped({"a.txt": "one"}), {"Content-Type": receiving.ANY}, {"name": "a.pdf"}, 422, "ZIP archive"),
        (TIDES, PDF, {"published_at": "in May"}, 422, "published_at"),
        (TIDES, PDF, {"id": "a b"}, 422, "id"),
        (TIDES, {"Content-Type": "image/png"}, {}, 415, "Content-Type"),
        (TIDES, {"Content-Type": receiving.ANY}, {"name": "a.exe"}, 415, "name the file with one of .pdf"),
        (b'{"sha1": "a"}', {"Content-Type": "application/x-ndjson"}, {"title": "a"}, 422, "are for documents"),
        (b"--x--", {"Content-Type": "multipart/form-data; boundary=x"}, {}, 422, "must be a file of the form"),
        (b"x", {"Content-Type": "multipart/form-data"}, {}, 422, "boundary"),
    ],
)
def test_what_cannot_be_read_is_a_problem_that_says_why(
    quiet_http: httpx.Client, content: bytes, headers: dict[str, str], params: dict[str, str], status: int, said: str
) -> None:
    answer = quiet_http.post(AT, content=content, headers=headers, params=params)
    assert (answer.status_code, said in answer.json()["detail"]) == (status, True), answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_only_reports_are_read_out_of_documents(quiet_http: httpx.Client) -> None:
    answer = quiet_http.post("/v1/collections/uploads/messages", content=TIDES, headers=PDF)
    assert (answer.status_code, "application/pdf" in answer.json()["detail"]) == (415, False)


def test_a_document_that_is_too_large_is_refused_while_it_comes(
    quiet_http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "LIMITS", ReadLimits(file_bytes=1_000))
    for sent in ({"content": b"%PDF-" + b"x" * 2_000, "headers": PDF}, {"files": {"file": ("a.pdf", b"x" * 2_000)}}):
        answer = quiet_http.post(AT, **sent)
        assert (answer.status_code, "1000 bytes" in answer.json()["detail"]) == (413, True)


def test_without_the_engines_the_answer_says_what_to_install(
    quiet_http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise EngineMissing(f"pypdfium2 is not installed; {INSTALL_HINT}")

    monkeypatch.setattr(process.FileReader, "read", missing)
    answer = quiet_http.post(AT, content=TIDES, headers=PDF)
    assert (answer.status_code, INSTALL_HINT in answer.json()["detail"]) == (415, True)


@pytest.mark.parametrize("times", [2, pytest.param(5, marks=pytest.mark.nightly)])
def test_a_caller_who_goes_away_costs_nobody_else_a_document(tmp_path: Path, times: int) -> None:
    endless = documents.heavy_pdf("one", heavy=1, size=300_000_000)  # reading it takes a minute
    (tmp_path / "endless.pdf").write_bytes(endless)
    (tmp_path / "good.txt").write_text("all is well")

    async def go_away_and_read(room: ReadingRoom) -> str:
        leaving = asyncio.create_task(room.read(Received(tmp_path / "endless.pdf", "endless.pdf"), LOOPBACK_CALLER))
        await asyncio.sleep(0.1)
        leaving.cancel()
        with suppress(asyncio.CancelledError):
            await leaving
        good = await room.read(Received(tmp_path / "good.txt", "good.txt"), LOOPBACK_CALLER)
        return good.pages[0].text

    async def often() -> list[str]:
        room = ReadingRoom()
        try:
            return [await go_away_and_read(room) for _ in range(times)]
        finally:
            room.close()

    assert asyncio.run(often()) == ["all is well"] * times
