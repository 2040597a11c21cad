"""Documents submitted one after the other, on a mill in memory."""

import io
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from querymill import IngestedDocument, IngestReportsResult, Report, ReportSearch
from querymill.ingesting import submitting
from querymill.ingesting.jsonl import BadLine, GoodLine
from querymill.ingesting.kinds.messages import LINES as SESSIONS
from querymill.ingesting.kinds.reports import LINES as REPORTS
from querymill.ingesting.submitting import IN_FLIGHT, Parcel, ingest, outcome_of_each, pack
from querymill.testing import MemoryMill
from querymill_workers.inference.memory import WordEmbeddings
from querymill_workers.jobs.faults import Unavailable


@pytest.fixture
def mill() -> Iterator[MemoryMill]:
    with MemoryMill() as opened:
        yield opened


def report_line(sha1: str, text: str) -> str:
    return f'{{"sha1": "{sha1}", "title": "t", "company": "Nordhav", "pages": [{{"page": 1, "text": "{text}"}}]}}'


def read(tmp_path: Path, *lines: str) -> list[GoodLine[Report] | BadLine]:
    path = tmp_path / "reports.jsonl"
    path.write_text("\n".join(lines))
    return list(REPORTS.read(path))


def good(found: list[GoodLine[Report] | BadLine]) -> list[GoodLine[Report]]:
    return [line for line in found if isinstance(line, GoodLine)]


def jobs_of(lines: Iterable[GoodLine[Report]]) -> Iterator[Parcel]:
    return pack(lines, REPORTS.asking("filings"))


def pack_alone(lines: Iterable[GoodLine[Report]]) -> Iterator[Parcel]:
    """Give every line a job of its own."""
    return (parcel for line in lines for parcel in jobs_of([line]))


def test_every_document_arrives_in_order_with_the_bytes_so_far(tmp_path: Path, mill: MemoryMill) -> None:
    lines = good(read(tmp_path, *(report_line(f"r{number}", "nine ships") for number in range(IN_FLIGHT + 3))))
    arrived = [advance for advance in ingest(mill, jobs_of(lines)) if advance.result is not None]
    assert [advance.document for advance in arrived] == [line.name for line in lines]
    assert [advance.result.outcome for advance in arrived if advance.result] == ["ingested"] * len(lines)
    sizes = [advance.size for advance in arrived]
    assert sizes == sorted(sizes)
    assert sizes[-1] == sum(line.size for line in lines)


def test_the_same_documents_again_change_nothing(tmp_path: Path, mill: MemoryMill) -> None:
    lines = good(read(tmp_path, report_line("a", "nine ships"), report_line("b", "tomato soup")))
    for expected in ("ingested", "unchanged"):
        assert {advance.result.outcome for advance in ingest(mill, jobs_of(lines)) if advance.result} == {expected}


def test_of_two_versions_of_a_document_the_later_stands(tmp_path: Path, mill: MemoryMill) -> None:
    versions = [report_line("a", f"the fleet counts {number} ships") for number in range(6)]
    list(ingest(mill, jobs_of(good(read(tmp_path, *versions)))))
    result = mill.submit(ReportSearch(query="fleet", collection="filings")).result(timeout=10)
    assert [hit.text for hit in result.results] == ["the fleet counts 5 ships"]


def test_a_document_that_was_dropped_while_its_job_waited_is_forgotten_and_the_others_have_their_own_outcomes(
    tmp_path: Path,
) -> None:
    (parcel,) = jobs_of(good(read(tmp_path, *(report_line(sha1, "soup") for sha1 in "abc"))))
    left = tuple(IngestedDocument(document=sha1, outcome="ingested", total=1) for sha1 in "ac")
    result = IngestReportsResult(job_id="j", collection="filings", complete=True, total=2, documents=left)
    assert [entry.outcome for entry in outcome_of_each(parcel, result)] == ["ingested", "forgotten", "ingested"]


def test_a_bad_line_is_named_and_the_rest_is_loaded(tmp_path: Path, mill: MemoryMill) -> None:
    found = read(tmp_path, report_line("a", "nine ships"), "{no json", "", '{"sha1": "b"}', report_line("c", "soup"))
    bad = [line for line in found if isinstance(line, BadLine)]
    assert [(line.number, line.reason.split(":")[0]) for line in bad] == [(2, "not JSON"), (4, "pages")]
    assert [advance.document for advance in ingest(mill, jobs_of(good(found))) if advance.result] == ["a", "c"]


def test_a_session_is_in_once_its_vectors_are_stored(tmp_path: Path, mill: MemoryMill) -> None:
    path = tmp_path / "sessions.jsonl"
    path.write_text(
        '{"session_id": "s", "started_at": "2026-03-01T09:00:00Z", "messages": [{"role": "user", "text": "rain"}]}'
    )
    lines: list[Any] = list(SESSIONS.read(path))
    jobs = pack(lines, SESSIONS.asking("chats"))
    (arrived,) = [advance for advance in ingest(mill, jobs) if advance.result is not None]
    assert (arrived.document, arrived.reason) == ("s", "")


def test_lines_are_read_while_others_are_ingested(mill: MemoryMill) -> None:
    read: list[int] = []

    def lines() -> Iterator[GoodLine[Any]]:
        for number in range(1, 4 * IN_FLIGHT):
            read.append(number)
            document = report_line(f"r{number}", "nine ships").encode()
            (line,) = REPORTS.read_stream(io.BytesIO(document))
            assert isinstance(line, GoodLine)
            yield line

    arrived = 0
    for advance in ingest(mill, pack_alone(lines())):
        if advance.document is not None:
            arrived += 1
            # Those in flight, the one that waits, and the one that is being read.
            assert len(read) <= arrived + IN_FLIGHT + 1
    assert arrived == len(read)


def test_what_an_ingestion_waits_for_is_said_when_it_is_put_back_and_when_it_says_nothing(
    tmp_path: Path, mill: MemoryMill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submitting, "QUIET_S", 0.2)
    lines, failed, may_end = good(read(tmp_path, report_line("r1", "nine ships"))), [0], threading.Event()
    honest = WordEmbeddings.embed

    def away_at_first(*arguments: Any, **options: Any) -> Any:
        failed[0] += 1
        if failed[0] == 1:
            raise Unavailable("embedding unavailable: HTTP 503")
        assert may_end.wait(30)
        return honest(*arguments, **options)

    monkeypatch.setattr(WordEmbeddings, "embed", away_at_first)
    said: list[str] = []
    for advance in ingest(mill, jobs_of(lines)):
        said += [advance.waits_for] if advance.waits_for and advance.waits_for not in said else []
        if any("under way" in reason for reason in said):
            may_end.set()
    assert said[0] == "r1: embed is tried again: embedding unavailable: HTTP 503"
    assert said[-1] == "r1: embed is under way, after: embedding unavailable: HTTP 503"
