import pytest

from querymill_workers.retrievers.reports.rules.unknown_names import unknown_names

KNOWN = ["Aurora Foods", "Boreal Ltd", "Annual report 2022", "天河能源"]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What was the revenue of Zenith Motors in 2022?", ["Zenith Motors"]),
        ("Compare the capital expenditure of Aurora Foods and Zenith Motors", ["Zenith Motors"]),
        ("Does Kestrel have debt?", ["Kestrel"]),
        ("What is Kestrel's EBITDA margin?", ["Kestrel"]),
        ("长江科技2022年的营收", ["长江科技"]),
        ("天河能源2022年的营收", []),
        ("该公司的营收", []),
        ("What is the FY2022 EBITDA of Aurora?", []),
        ("How did Net Income and Cash Flow change in the United States?", []),
        ("What was revenue in Europe?", []),
    ],
)
def test_names_that_look_like_companies_and_that_nothing_known_has(question: str, names: list[str]) -> None:
    assert unknown_names(question, KNOWN) == names
