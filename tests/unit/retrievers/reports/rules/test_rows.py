from querymill_workers.retrievers.reports.rules.rows import row_lines


def test_each_value_stands_with_its_row_and_its_column() -> None:
    table = "| | 2019 | 2018 |\n|---|---|---|\n| Fixed price | 1,452 | 1,146 |\n| Other | 44 | |"
    assert row_lines(table) == ["Fixed price, 2019: 1,452", "Fixed price, 2018: 1,146", "Other, 2019: 44"]


def test_columns_may_have_names_in_several_rows() -> None:
    table = " | Years ended March 31, | \n | 2019 | 2018\nTotal sales | $1,496.5 | $1,202.9"
    assert row_lines(table) == ["Total sales, Years ended March 31, 2019: $1,496.5", "Total sales, 2018: $1,202.9"]


def test_columns_made_of_blanks_belong_to_the_name_that_ends_near() -> None:
    table = (
        "EUR million            2022      2021\n"
        "Revenue             1,234.5   1,100.0\n"
        "Net debt              310.0     290.0"
    )
    assert row_lines(table) == [
        "Revenue, 2022: 1,234.5",
        "Revenue, 2021: 1,100.0",
        "Net debt, 2022: 310.0",
        "Net debt, 2021: 290.0",
    ]


def test_prose_has_no_rows() -> None:
    assert row_lines("Revenue rose to 12 million in 2022.\nIt fell before.") == []
