"""Documents as they are, through the command line into a search, on real servers."""

import json
from pathlib import Path

import pytest

from querymill import Querymill, ReportSearch
from querymill_shared.contracts.reports.search import ReportHit
from tests.fixtures import documents
from tests.fixtures.command_line import CommandLine

TABLE = [
    (300, 700, 10, "2023"), (400, 700, 10, "2022"), (72, 688, 10, "Icebreaker toll"), (298, 688, 10, "1,452"),
    (398, 688, 10, "1,146"), (72, 676, 10, "Pilotage"), (310, 676, 10, "70"), (410, 676, 10, "66"),
]  # fmt: skip
OPTIONS = ("--collection", "papers", "--json")


def found_by(mill: Querymill, question: str) -> list[ReportHit]:
    asked = ReportSearch(query=question, collection="papers", metadata=True)
    return list(mill.submit(asked).result(timeout=30).results)


@pytest.mark.usefixtures("worker", "openai_server")
def test_a_folder_is_ingested_found_by_words_not_read_again_and_synchronised(
    querymill: CommandLine, mill: Querymill, tmp_path: Path
) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "TINN_2023_annual.pdf").write_bytes(documents.pdf(documents.lines("The harbour of Tinn"), TABLE))
    documents.write_docx(folder / "ferries.docx")
    (folder / "moss.html").write_text("<title>Moss</title><h1>Moss</h1><p>The lighthouse was painted.</p>")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    (folder / "metadata.csv").write_text("file,company,desk\nmoss.html,Moss Harbour,north\n")

    run = querymill("ingest", "reports", folder, *OPTIONS, "--period", "2023")
    assert run.returncode == 1, run.stderr  # of the broken file alone
    done = json.loads(run.stdout)
    assert (done["ingested"], done["unreadable_count"]) == (3, 1)
    assert "broken PDF" in done["unreadable"][0]["reason"]
    assert {(each["title"], each["company"], each["period"]) for each in done["documents"]} == {
        ("TINN 2023 annual", None, "2023"), ("Ferry timetable", None, "2023"), ("Moss", "Moss Harbour", "2023"),
    }  # fmt: skip

    (toll, *_) = found_by(mill, "icebreaker toll")
    assert (toll.title, toll.page) == ("TINN 2023 annual", 2)
    assert "| Icebreaker toll | 1,452 | 1,146 |" in toll.text
    assert (found_by(mill, "lighthouse painted")[0].metadata or {})["desk"] == "north"
    assert found_by(mill, "where does the ferry call?")[0].title == "Ferry timetable"

    (folder / "broken.pdf").unlink()
    (folder / "moss.html").unlink()
    again = json.loads(querymill("ingest", "reports", folder, *OPTIONS, "--period", "2023", "--sync").stdout)
    assert (again["ingested"], again["unchanged"], again["dropped"], again["pages"]) == (0, 2, 1, 0)
    assert all(hit.title != "Moss" for hit in found_by(mill, "lighthouse painted"))


@pytest.mark.usefixtures("worker", "openai_server")
def test_a_damaged_page_costs_itself_and_its_place_is_shown(
    querymill: CommandLine, mill: Querymill, tmp_path: Path
) -> None:
    whole = documents.pdf(*(documents.lines(text) for text in ("The first mole", "lost", "The third mole")))
    damaged = tmp_path / "moles.pdf"
    damaged.write_bytes(whole.replace(b"6 0 obj\n<< /Type /Page", b"6 0 obj\n<< /Type /Font"))
    run = querymill("ingest", "reports", damaged, *OPTIONS)
    assert run.returncode == 0, run.stderr
    assert f"{damaged}: page 2: " in run.stderr.replace("\n", "")
    (told,) = json.loads(run.stdout)["documents"]
    assert (told["outcome"], told["pages"]) == ("ingested", 2)
    assert [remark.startswith("page 2: ") for remark in told["remarks"]] == [True]
    hit = next(hit for hit in found_by(mill, "the third mole") if hit.title == "moles")
    assert hit.page == 3
    assert (hit.metadata or {})["remarks"] == told["remarks"]


@pytest.mark.usefixtures("worker", "openai_server")
def test_a_line_that_has_only_pages_is_ingested_found_listed_and_shown(
    querymill: CommandLine, mill: Querymill, tmp_path: Path
) -> None:
    lines = tmp_path / "bare.jsonl"
    lines.write_text(
        '{"pages": [{"page": 1, "text": "Gull counts\\nforty gulls at the quay"}]}\n'
        '{"company": null, "title": "Ferns", "pages": [{"page": 7, "text": "ferns on the moor"}]}\n'
    )
    run = querymill("ingest", "reports", lines, "--collection", "bare", "--json")
    assert run.returncode == 0, run.stdout + run.stderr
    asked = ReportSearch(query="gulls at the quay", collection="bare")
    (hit, *_) = mill.submit(asked).result(timeout=30).results
    assert (hit.title, hit.company, hit.page) == ("Gull counts", None, 1)

    listed = json.loads(
        querymill("list", "reports", "--collection", "bare", "--filter", "company=null", "--json").stdout
    )
    assert {card["title"] for card in listed["documents"]} == {"Gull counts", "Ferns"}
    shown = querymill("show", "reports", hit.document, "--collection", "bare", "--page", "1", "--json")
    assert json.loads(shown.stdout)["company"] is None
    exported = querymill("export", "reports", "--collection", "bare")
    assert {row.get("company") for row in map(json.loads, exported.stdout.splitlines())} == {None}


@pytest.mark.usefixtures("worker", "openai_server")
def test_a_document_from_a_pipe(querymill: CommandLine) -> None:
    run = querymill("ingest", "reports", "-", *OPTIONS, given="# Tides\n\nEbb follows flood.\n")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["documents"][0]["title"] == "Tides"
