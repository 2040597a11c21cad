"""A small judged set of annual reports: what their pages say, and which pages answer which question.

Written for this project; companies and figures are invented. Every page begins with the company and the year, as in
real filings, and the pages on governance and on forward-looking statements are the same in all reports.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from querymill_shared.contracts.reports.search import ReportResult, ReportSearch
from querymill_workers.retrievers.reports import glossary
from tests.fixtures.world import World, new_world

YEARS: Final = (2019, 2020, 2021, 2022)
#: Company, ticker, what it does, and the size of its figures.
COMPANIES: Final = (
    ("Aurora Foods", "ARFD", "packaged soups and breads", 1200),
    ("Boreal Energy Holdings", "BOEH", "wind parks and district heating", 5400),
    ("Calder Rail Group", "CLDR", "freight wagons and track maintenance", 2600),
    ("Dunmore Paper Mills", "DNMR", "cartons and newsprint", 800),
    ("Esker Medical Devices", "ESKM", "pumps, catheters and hospital beds", 3900),
)
PAGES: Final = (
    "cover", "letter", "income", "balance", "cash", "segments", "people", "risks", "governance", "outlook", "pensions",
)  # fmt: skip
GOVERNANCE: Final = (
    "Corporate governance\nThe board follows the code of the exchange. Committees for audit, pay and nomination meet"
    " four times a year, keep minutes and report to the board. Members who have an interest in a matter leave the room"
    " and do not vote. The code is reviewed every year, and departures from it are explained to the shareholders."
)
OUTLOOK: Final = (
    "Forward-looking statements\nStatements about the future rest on assumptions that may prove wrong. Words such as"
    " expects, plans and believes mark them. Nobody should rely on them, and no one undertakes to update them when new"
    " facts come to light, except where the law demands it."
)
CHINESE_COMPANY: Final = "天河能源"


@dataclass(frozen=True)
class Question:
    """A question, and for each of its sides the pages (report and name of the page) of which one answers it."""

    text: str
    sides: tuple[tuple[tuple[str, str], ...], ...]


def page_number(name: str) -> int:
    """Return the number of a page, from 1."""
    return PAGES.index(name) + 1


def reports() -> Iterator[dict[str, object]]:
    """Yield the reports, in the form that is ingested."""
    for number, (company, ticker, trade, size) in enumerate(COMPANIES):
        for year in YEARS:
            texts = _english(company, ticker, trade, size + 37 * (year - 2019) + 11 * number, year)
            yield _report(f"{ticker.lower()}{year}", company, year, texts)
    for year in (2021, 2022):
        yield _report(f"tianhe{year}", CHINESE_COMPANY, year, _chinese(year))


def _report(sha1: str, company: str, year: int, texts: list[str]) -> dict[str, object]:
    pages = [{"page": number, "text": text} for number, text in enumerate(texts, start=1)]
    return {
        "sha1": sha1,
        "title": f"{company} {year}",
        "company": company,
        "period": str(year),
        "pages": pages,
    }


def _english(company: str, ticker: str, trade: str, size: int, year: int) -> list[str]:
    def two(first: str, name: str, share: float) -> str:
        return f"{first:<40}{name:>2}{size * share:>12,.1f}{size * share * 0.94:>12,.1f}"

    head = f"{company}\nAnnual report {year}\n"
    years = f"{'EUR million':<42}{year:>12}{year - 1:>12}"
    bodies = (
        f"{company} (NYSE: {ticker})\nAnnual report for the year ended 31 December {year}",
        f"Letter to shareholders\nThe year {year} was a good one for our {trade}. We thank our customers and staff.",
        "\n".join(["Consolidated statement of income", years, two("Revenue", "", 1),
                   two("Cost of goods sold", "", 0.62), two("Operating profit", "", 0.14),
                   two("Net profit", "", 0.09)]),
        "\n".join(["Consolidated balance sheet", years, two("Inventories", "", 0.21),
                   two("Trade receivables", "", 0.17), two("Total assets", "", 1.8),
                   two("Shareholders' equity", "", 0.7)]),
        "\n".join(["Consolidated statement of cash flows", years, two("Cash from operations", "", 0.19),
                   two("Capital expenditure", "", 0.08), two("Dividends paid", "", 0.03)]),
        f"Segments\nHome market {size * 0.6:,.1f} million, abroad {size * 0.4:,.1f} million. We make {trade}.",
        f"People\nAt the end of {year} we employed {size * 3:,} men and women. Accidents at work fell"
        f" to {year % 7 + 2}.",
        f"Principal risks\nPrices of raw materials, strikes and cyber attacks may harm our {trade}.",
        GOVERNANCE,
        OUTLOOK,
        f"Note 14 Pensions\nThe defined benefit obligation was {size * 0.31:,.1f} million; the discount rate"
        f" was {1 + year % 5 * 0.4:.1f}%.",
    )  # fmt: skip
    return [head + body for body in bodies]


def _chinese(year: int) -> list[str]:
    head = f"{CHINESE_COMPANY}\n{year}年年度报告\n"
    return [
        head + f"{CHINESE_COMPANY} 证券代码：60{year}",
        head + "致股东的信\n感谢各位股东的支持。",
        head + f"合并利润表\n营业收入 {year * 2:,} 百万元\n净利润 {year // 5:,} 百万元",
        head + f"合并资产负债表\n存货 {year // 3:,} 百万元\n总资产 {year * 9:,} 百万元",
        head + f"合并现金流量表\n资本支出 {year // 4:,} 百万元\n支付股利 {year // 9:,} 百万元",
        head + "分部信息\n风电与供热",
        head + f"员工情况\n年末员工人数 {year * 7:,} 人",
        head + "主要风险\n原材料价格波动",
    ]


def _pages(companies: str, years: str, page: str) -> tuple[tuple[tuple[str, str], ...], ...]:
    return tuple(((f"{ticker}{year}", page),) for ticker in companies.split() for year in years.split())


#: Questions about one report. The table that answers does not name the company; the ticker and the year's name route.
PLAIN: Final = (
    Question("What was the revenue of Aurora Foods in 2022?", _pages("arfd", "2022", "income")),
    Question("What was Boreal's operating profit in FY2021?", _pages("boeh", "2021", "income")),
    Question("CLDR capital expenditure 2020", _pages("cldr", "2020", "cash")),
    Question("How much did Dunmore Paper Mills pay in dividends in 2019?", _pages("dnmr", "2019", "cash")),
    Question(
        "What were the inventories of Esker Medical Devices at the end of 2022?", _pages("eskm", "2022", "balance")
    ),
    Question(
        "Using the balance sheet, what were Aurora Foods' total assets in 2021?", _pages("arfd", "2021", "balance")
    ),
    Question("How many people did Calder Rail employ in 2022?", _pages("cldr", "2022", "people")),
    Question("Which discount rate did Boreal Energy use for its pensions in 2022?", _pages("boeh", "2022", "pensions")),
    Question("What share of sales did Dunmore make abroad in 2020?", _pages("dnmr", "2020", "segments")),
    Question("Which risks does Esker Medical name in 2021?", _pages("eskm", "2021", "risks")),
    Question("What did Aurora Foods earn after tax in 2020, net profit?", _pages("arfd", "2020", "income")),
    Question("cost of goods sold of ESKM in fiscal 2019", _pages("eskm", "2019", "income")),
    Question("天河能源2022年的营业收入是多少？", _pages("tianhe", "2022", "income")),
    Question("天河能源2021年的资本支出", _pages("tianhe", "2021", "cash")),
    Question("天河能源2022年末有多少员工？", _pages("tianhe", "2022", "people")),
)

#: Questions over two companies or over two years.
COMPARISONS: Final = (
    Question(
        "Compare the capital expenditure of Aurora Foods and Boreal Energy in 2022", _pages("arfd boeh", "2022", "cash")
    ),
    Question(
        "Did Calder Rail or Dunmore Paper Mills have more revenue in 2021?", _pages("cldr dnmr", "2021", "income")
    ),
    Question("Net profit of Esker Medical Devices versus Aurora Foods, 2020", _pages("eskm arfd", "2020", "income")),
    Question("Which paid more dividends in 2019, Boreal Energy or Calder Rail?", _pages("boeh cldr", "2019", "cash")),
    Question("Inventories of DNMR and ESKM at the end of 2022", _pages("dnmr eskm", "2022", "balance")),
    Question(
        "Do Aurora Foods and Dunmore Paper Mills employ more people than in 2021?",
        _pages("arfd dnmr", "2021", "people"),
    ),
    Question(
        "Discount rates for pensions: Boreal Energy against Esker Medical, 2021",
        _pages("boeh eskm", "2021", "pensions"),
    ),
    Question(
        "How do the total assets of Calder Rail and Esker Medical Devices in 2020 compare?",
        _pages("cldr eskm", "2020", "balance"),
    ),
    Question("Operating profit of ARFD and CLDR in 2022", _pages("arfd cldr", "2022", "income")),
    Question("Sales abroad of Boreal Energy and Dunmore in 2021", _pages("boeh dnmr", "2021", "segments")),
    Question(
        "Principal risks of Aurora Foods compared with those of Esker Medical in 2022",
        _pages("arfd eskm", "2022", "risks"),
    ),
    Question(
        "Cash from operations in 2019: Dunmore Paper Mills and Boreal Energy", _pages("dnmr boeh", "2019", "cash")
    ),
    Question("Accidents at work at Calder Rail and at Boreal Energy in 2020", _pages("cldr boeh", "2020", "people")),
    Question(
        "Cost of goods sold, Esker Medical Devices and Calder Rail, FY2021", _pages("eskm cldr", "2021", "income")
    ),
    Question("天河能源和Aurora Foods 2022年的资本支出 capital expenditure", _pages("tianhe arfd", "2022", "cash")),
    Question(
        "How did the revenue of Aurora Foods change between 2019 and 2022?",
        (*_pages("arfd", "2019", "income"), *_pages("arfd", "2022", "income")),
    ),
    Question("Capital expenditure of Boreal Energy in 2021 and 2022", _pages("boeh", "2021 2022", "cash")),
    Question("Calder Rail's net profit in 2019 compared with 2022", _pages("cldr", "2019 2022", "income")),
    Question(
        "Did the inventories of Esker Medical Devices rise from 2020 to 2021?", _pages("eskm", "2020 2021", "balance")
    ),
    Question("Dunmore Paper Mills: dividends paid, FY2019 and FY2021", _pages("dnmr", "2019 2021", "cash")),
    Question("How many people did Aurora Foods employ in 2020 and in 2022?", _pages("arfd", "2020 2022", "people")),
    Question("Operating profit of BOEH, 2019 to 2020", _pages("boeh", "2019 2020", "income")),
    Question("discount rate of the pensions of Calder Rail in 2021 vs 2022", _pages("cldr", "2021 2022", "pensions")),
    Question("Esker Medical's revenue over the past two years", _pages("eskm", "2021 2022", "income")),
    Question("Total assets of Dunmore at the end of 2020 and of 2022", _pages("dnmr", "2020 2022", "balance")),
    Question("天河能源2021年和2022年的营业收入分别是多少？", _pages("tianhe", "2021 2022", "income")),
    Question("天河能源近两年的资本支出", _pages("tianhe", "2021 2022", "cash")),
    Question("天河能源2021至2022年员工人数的变化", _pages("tianhe", "2021 2022", "people")),
    Question("Shareholders' equity of Boreal Energy, 2020 against 2021", _pages("boeh", "2020 2021", "balance")),
    Question("Compare cash from operations of Aurora Foods in 2021 with 2020", _pages("arfd", "2020 2021", "cash")),
)

#: Questions in the words of analysts. The tables that answer state the lines behind a ratio, and never its name.
JARGON: Final = (
    Question("capex of CLDR, 2020", _pages("cldr", "2020", "cash")),
    Question("Has Aurora Foods a healthy quick ratio for 2021?", _pages("arfd", "2021", "balance")),
    Question("What was the DSO of Dunmore Paper Mills in 2022?", ((("dnmr2022", "balance"), ("dnmr2022", "income")),)),
    Question("Boreal Energy: FCF in 2021", _pages("boeh", "2021", "cash")),
    Question("gross margin of Esker Medical Devices in FY2020", _pages("eskm", "2020", "income")),
    Question("How did the topline of Calder Rail look in 2021?", _pages("cldr", "2021", "income")),
    Question("What was the bottom line of Dunmore in 2019?", _pages("dnmr", "2019", "income")),
    Question("dividend payout ratio of Aurora Foods, 2020", _pages("arfd", "2020", "cash")),
    Question("headcount of Boreal Energy Holdings in 2022", _pages("boeh", "2022", "people")),
    Question("Does Esker Medical owe a retirement plan in 2021?", _pages("eskm", "2021", "pensions")),
    Question("How capital-intensive was Calder Rail in 2022?", _pages("cldr", "2022", "cash")),
    Question("Aurora Foods' leverage at the end of 2019", _pages("arfd", "2019", "balance")),
)


@cache
def load() -> World:
    """Return a world with the reports, and the bundled glossary."""
    world = new_world()
    world.with_ports(glossary=glossary.bundled())
    world.ingest(*reports())
    return world


def found(question: Question, **fields: object) -> list[tuple[str, int]]:
    """Search for pages, and return them."""
    world = load()
    asked = {"collection": "filings", "query": question.text, "return_parent_pages": True} | fields
    result = world.result(world.run(ReportSearch.model_validate(asked)))
    assert isinstance(result, ReportResult)
    return [(hit.document, hit.page) for hit in result.results]


def answers(question: Question) -> list[set[tuple[str, int]]]:
    """Return the pages that answer each side of a question."""
    return [{(report, page_number(page)) for report, page in side} for side in question.sides]
