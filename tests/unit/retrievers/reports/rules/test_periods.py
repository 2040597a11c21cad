from datetime import date
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.reports.rules.periods import Period, find_period, find_periods
from tests.fixtures.short_forms import all_at_night

TODAY = date(2024, 5, 6)


@pytest.mark.parametrize(
    "text",
    [
        "2022",
        "FY2022",
        "FY22",
        "FY'22",
        "FY 2022",
        "fiscal year 2022",
        "in 2022?",
        "2022年",
        "2022财年",
        "２０２２年报",
        "二〇二二年",
        "二零二二财年",
        "1st July 2022",
        "May 3,2022",
        "31.12.2022",
        "2022.12.31",
        "2022-05-20",
        "2022E",
        "2022F",
        "2022FY",
        "2021/22",
        "FY2021-22",
        "LUMEN_2022_10K",
        "请比较Lumen公司2022年度的收入",
        "2022 and its 1990s debts",
    ],
)
def test_a_year_is_found_however_it_is_written(text: str) -> None:
    assert find_period(text, TODAY) == Period(2022, None)


@pytest.mark.parametrize(
    "text",
    [
        "Q3 2021",
        "FY2021 Q3",
        "Q32021",
        "2021Q3",
        "Q3'2021",
        "Q3’21",
        "3Q21",
        "3Q 2021",
        "Q3FY21",
        "Q3 of FY2021",
        "third quarter of fiscal year 2021",
        "2021, third quarter",
        "2021年第三季度",
        "2021年三季报",
        "二〇二一年3季度",
        "in 2021, how did sales of the 3rd quarter do?",
    ],
)
def test_a_quarter_goes_with_its_year(text: str) -> None:
    assert find_period(text, TODAY) == Period(2021, 3)


@pytest.mark.parametrize("text", ["H1 2023", "2023H1", "first half of 2023", "2023年上半年", "2023年半年报", "Q2 2023"])
def test_a_half_year_counts_as_the_quarter_it_ends_with(text: str) -> None:
    assert find_period(text, TODAY) == Period(2023, 2)


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("FY2018 – FY2019", Period(2019, None)),
        ("between 2022 and 2021", Period(2022, None)),
        ("between Q2 of FY2024 and FY2023", Period(2024, 2)),
        ("between FY2023 and Q2 of FY2024", Period(2024, 2)),
        ("Q4 2021 against FY2022", Period(2022, None)),
        ("Q2 2023, Q1 2023 and Q3 2022", Period(2023, 2)),
    ],
)
def test_of_several_years_the_latest_counts_with_its_own_quarter(text: str, period: Period) -> None:
    assert find_period(text, TODAY) == period


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("last year", 2023),
        ("去年的净利润", 2023),
        ("this fiscal year", 2024),
        ("今年", 2024),
        ("前年", 2022),
        ("the year before last", 2022),
        ("How did 2019 compare to last year?", 2019),
    ],
)
def test_years_are_counted_back_from_today_where_none_is_written(text: str, year: int) -> None:
    assert find_period(text, TODAY) == Period(year, None)


def test_a_quarter_goes_with_last_year_too() -> None:
    assert find_period("去年第三季度", TODAY) == Period(2023, 3)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2,000 stores",
        "$2022",
        "€ 2,021",
        "2021%",
        "2022 %",
        "2022.5",
        "120221",
        "order 2022a9b3",
        "order 2022f3",
        "2022,333",
        "ISO2022",
        "1989",
        "2100",
        "2000家门店",
        "2010万元",
        "2022 million",
        "in the 1990s",
        "10-K",
        "FY 10-K",
        "COVID-19",
        "以前年度",
        "三年前年报",
        "Q3",
        "第三季度",
        "3Q",
    ],
)
def test_what_is_no_year_gives_no_period(text: str) -> None:
    assert find_period(text, TODAY) is None


@given(st.integers(1990, 2099), st.none() | st.integers(1, 4))
def test_a_period_is_found_in_its_own_words(year: int, quarter: int | None) -> None:
    period = Period(year, quarter)
    assert find_period(str(period), TODAY) == period


@given(st.text(alphabet="Q1234FY20 'of年第季度-/,.%"))
def test_whatever_the_text_a_period_lies_in_its_range(text: str) -> None:
    period = find_period(text, TODAY)
    if period is not None:
        assert 1990 <= period.year <= 2099
        assert period.quarter in {None, 1, 2, 3, 4}


@pytest.mark.parametrize(
    "piece", all_at_night(["2021 ", "Q1 ", "Q1 2021 ", "of ", "20", "' ", "2021Q1-"], short=["Q1 2021 ", "' "])
)
def test_a_long_text_is_read_in_linear_time(piece: str) -> None:
    started = process_time()
    find_period(piece * (500_000 // len(piece)), TODAY)
    assert process_time() - started < 20


@pytest.mark.parametrize(
    ("text", "periods"),
    [
        ("revenue in 2021 and 2022", "2021, 2022"),
        ("How did revenue change from 2019 to 2022?", "2019, 2020, 2021, 2022"),
        ("FY2017 - FY2019 average", "2017, 2018, 2019"),
        ("between FY2018 and FY2020", "2018, 2019, 2020"),
        ("fiscal years 2019 through 2021", "2019, 2020, 2021"),
        ("天河能源2021年和2022年分别", "2021, 2022"),
        ("2020-2022年", "2020, 2021, 2022"),
        ("2019年至2021年", "2019, 2020, 2021"),
        ("Q1 2022 compared with Q1 2021", "2021 Q1, 2022 Q1"),
        ("Q2 and Q3 of 2022", "2022 Q2, 2022 Q3"),
        ("Q1 to Q3 2022", "2022 Q1, 2022 Q2, 2022 Q3"),
        ("sales of the third quarter, compared in 2022 and 2021", "2021 Q3, 2022 Q3"),
        ("the past two years up to 2022", "2021, 2022"),
        ("the past three years", "latest 3 years"),
        ("over the last five fiscal years", "latest 5 years"),
        ("近三年的研发费用", "latest 3 years"),
        ("过去两年", "latest 2 years"),
        ("sales last year", "2023"),
        ("Q2 of last year", "2023 Q2"),
        ("2021/22", "2022"),
        ("the last 12 months", ""),
        ("nothing", ""),
    ],
)
def test_all_periods_of_a_question_are_named(text: str, periods: str) -> None:
    assert str(find_periods(text, TODAY)) == periods
    assert bool(find_periods(text, TODAY)) == bool(periods)
