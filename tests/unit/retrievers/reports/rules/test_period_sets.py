from datetime import date

import pytest

from querymill_workers.retrievers.reports.rules.period_sets import find_periods

TODAY = date(2024, 5, 6)


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
