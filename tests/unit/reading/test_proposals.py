"""Title, company, period and day, proposed from the cover and the name of the file."""

import pytest

from querymill_reading.document import Document, Page, Remark
from querymill_reading.reports import asked_hash, report_of
from querymill_reading.rules.proposals import company_on, day_in, period_of_file, propose

COVER = """FORM 10-Q
For the quarterly period ended July 29, 2023
NORDHAV FERRIES, INC.
(Exact name of registrant as specified in its charter)"""


def test_the_worked_example_the_file_has_the_fiscal_period_and_the_cover_the_company() -> None:
    assert propose("NORDHAV_2024Q2_10Q.pdf", [COVER], title="0000764478-23-000041") == {
        "title": "NORDHAV FERRIES, INC., Form 10-Q for the quarterly period ended July 29, 2023",
        "company": "NORDHAV FERRIES, INC.",
        "period": "2024 Q2",
    }


def test_without_a_cover_the_name_of_the_file_says_it_all() -> None:
    assert propose("NORDHAV_2022_8K_dated-2022-05-20.pdf", [""]) == {
        "title": "NORDHAV 2022 8K dated-2022-05-20", "company": "NORDHAV", "period": "2022",
        "published_at": "2022-05-20",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "period"),
    [
        ("2023Q4.pdf", "2023 Q4"),
        ("results Q1 2022.pdf", "2022 Q1"),
        ("3Q-2021.pdf", "2021 Q3"),
        ("FY2020 annual.pdf", "2020"),
        ("ibm-10-k-2025-02-25.html", ""),
        ("12022.pdf", ""),
        ("notes.md", ""),
    ],
)
def test_periods_of_files(name: str, period: str) -> None:
    assert period_of_file(name) == period


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2022-05-20", "2022-05-20"),
        ("on May 3, 2023 (Wednesday)", "2023-05-03"),
        ("3 March 2021", "2021-03-03"),
        ("2021年3月4日", "2021-03-04"),
        ("2022-13-40 then 2022-01-02", "2022-01-02"),
        ("no day", ""),
    ],
)
def test_days(text: str, day: str) -> None:
    assert day_in(text) == day


def test_a_chinese_cover() -> None:
    cover = "北海轮渡股份有限公司\n2022年第三季度报告"
    assert propose("a.pdf", [cover]) == {"title": "a", "company": "北海轮渡股份有限公司", "period": "2022 Q3"}


def test_titles_that_a_program_wrote_do_not_count() -> None:
    for machine in ("Microsoft Word - draft3.doc", "untitled", "Slide 1", "0000764478-23-000041", "scan.pdf"):
        assert propose("tide_table.pdf", [""], title=machine, heading="The tides")["title"] == "The tides"
    assert propose("tide_table.pdf", [""])["title"] == "tide table"


def test_a_report_takes_what_is_given_before_what_is_proposed() -> None:
    document = Document(
        "pdf", (Page(1, "text", "iv"),), {"title": "The tides", "period": "2020"}, {"author": "A. Moe", "title": "x"},
        (Remark("no text", 2),),
    )  # fmt: skip
    given = {"title": "Ebb", "published_at": "3 March 2021", "desk": "sea", "aliases": "TID; Tides"}
    report = report_of(document, "id", given, {"source": "/a.pdf"})
    assert report == {
        "author": "A. Moe", "page_labels": {"1": "iv"}, "remarks": ["page 2: no text"], "desk": "sea",
        "source": "/a.pdf", "format": "pdf", "sha1": "id", "title": "Ebb", "company": None,
        "aliases": ["TID", "Tides"], "period": "2020", "published_at": "2021-03-03",
        "pages": [{"page": 1, "text": "text"}],
    }  # fmt: skip


def test_metadata_that_is_too_long_is_left_out() -> None:
    report = report_of(Document("pdf", (Page(1, "text"),), metadata={"keywords": "k" * 9_000}), "id", {}, {})
    assert "keywords" not in report


def test_other_fields_make_another_stamp() -> None:
    assert asked_hash({"title": "a"}) != asked_hash({"title": "b"})
    assert asked_hash({"title": "a", "period": "2020"}) == asked_hash({"period": "2020", "title": "a"})


@pytest.mark.parametrize(
    ("cover", "company"),
    [
        ("2023 Annual Report\n\nNordhav Shipping, Inc.\n\nLetter to our shareholders", "Nordhav Shipping, Inc."),
        ("# Bank of the Harbour plc\n\nResults", "Bank of the Harbour plc"),
        ("Berth & Quay GmbH\nGeschäftsbericht", "Berth & Quay GmbH"),
        ("The harbour is run by Nordhav Shipping, Inc.", ""),
        ("Minutes\n" * 20 + "Nordhav Shipping, Inc.", ""),
        ("Tide tables for AS", ""),
    ],
)
def test_a_company_in_a_line_of_its_own_near_the_top_is_proposed(cover: str, company: str) -> None:
    assert propose("notes.txt", [cover]).get("company", "") == company


def test_the_company_of_an_author_is_not_that_of_the_document() -> None:
    assert (
        company_on("Tides and Ferries\nAda Berg\nNordhav Inc.\nberg@nordhav.example\nAbstract\nFerries are late.") == ""
    )
    assert company_on("Tides and Ferries\nBy Ada Berg, Nordhav, Inc.\nFerries are late.") == ""
    assert company_on("Tides and Ferries\nNordhav, Inc.\nFerries are late.") == "Nordhav, Inc."
