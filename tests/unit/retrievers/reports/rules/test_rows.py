from querymill_workers.retrievers.reports.rules.rows import row_names


def test_a_row_is_named_once_for_each_of_its_values() -> None:
    table = "| | 2019 | 2018 |\n|---|---|---|\n| Fixed price | 1,452 | 1,146 |\n| Other | 44 | |"
    assert row_names(table) == ["Fixed price", "Fixed price", "Other"]


def test_rows_above_the_first_value_name_columns() -> None:
    table = " | Years ended March 31, | \n | 2019 | 2018\nTotal sales | $1,496.5 | $1,202.9"
    assert row_names(table) == ["Total sales", "Total sales"]


def test_columns_may_be_made_of_blanks() -> None:
    table = (
        "EUR million            2022      2021\n"
        "Revenue             1,234.5   1,100.0\n"
        "                      310.0     290.0"
    )
    assert row_names(table) == ["Revenue", "Revenue"]


def test_prose_has_no_rows() -> None:
    assert row_names("Revenue rose to 12 million in 2022.\nIt fell before.") == []
