"""Lines that are drawn around cells say what belongs to a cell."""

from querymill_reading.rules.lattice import Post, lattices, with_tables
from querymill_reading.rules.layout import Rule, Word, lines_of
from querymill_reading.rules.paragraphs import blocks

SIZE = 10.0


def words(text: str, x: float, y: float) -> list[Word]:
    found = []
    for part in text.split():
        found.append(Word(part, x, x + 5 * len(part), y, SIZE))
        x += 5 * len(part) + 3
    return found


def drawn(xs: list[float], ys: list[float]) -> tuple[list[Rule], list[Post]]:
    return [Rule(xs[0], xs[-1], y) for y in ys], [Post(x, ys[0], ys[-1]) for x in xs]


def test_the_text_of_a_cell_is_one_however_it_is_wrapped() -> None:
    rules, posts = drawn([0, 100, 300], [0, 20, 60, 100])
    page = [
        *words("Fault", 5, 15), *words("Remedy", 105, 15),
        *words("Pump stands", 5, 35), *words("Check the fuse. Measure the volt-", 105, 35),
        *words("still", 5, 50), *words("age.", 105, 50),
        *words("Seal leaks", 5, 75), *words("Replace it.", 105, 75),
    ]  # fmt: skip
    (table,) = blocks(lines_of(with_tables(page, rules, posts)))
    assert table.splitlines() == [
        "| Fault | Remedy |",
        "| --- | --- |",
        "| Pump stands still | Check the fuse. Measure the voltage. |",
        "| Seal leaks | Replace it. |",
    ]


def test_a_merged_cell_stands_in_each_column_and_row_that_it_covers() -> None:
    rules = [Rule(0, 300, 0), Rule(100, 300, 20), Rule(0, 300, 40), Rule(100, 300, 60), Rule(0, 300, 80)]
    posts = [Post(0, 0, 80), Post(100, 0, 80), Post(200, 20, 80), Post(300, 0, 80)]
    page = [
        *words("Country", 5, 15), *words("Hotel", 150, 15), *words("weekday", 105, 35), *words("weekend", 205, 35),
        *words("Japan", 5, 55), *words("180", 105, 55), *words("190", 205, 55),
        *words("200", 105, 75), *words("210", 205, 75),
    ]  # fmt: skip
    (table,) = blocks(lines_of(with_tables(page, rules, posts)))
    assert table.splitlines() == [
        "| Country | Hotel / weekday | Hotel / weekend |",
        "| --- | --- | --- |",
        "| Japan | 180 | 190 |",
        "| Japan | 200 | 210 |",
    ]


def test_a_title_over_all_columns_stands_before_the_table_and_text_beside_it_stays() -> None:
    rules, posts = drawn([0, 100, 200], [0, 20, 40, 60])
    posts[1] = Post(100, 20, 60)
    page = [
        *words("Limits", 5, 15), *words("Pump", 5, 35), *words("Flow", 105, 35), *words("NP-1", 5, 55),
        *words("12", 105, 55), *words("Figures without warranty.", 0, 90),
    ]  # fmt: skip
    read = list(blocks(lines_of(with_tables(page, rules, posts))))
    assert read == ["Limits\n\n| Pump | Flow |\n| --- | --- |\n| NP-1 | 12 |", "Figures without warranty."]


def test_a_frame_with_figures_below_each_other_is_no_row() -> None:
    rules, posts = drawn([0, 100, 200], [0, 20, 60])
    page = [
        *words("Site", 5, 15), *words("2025", 105, 15), *words("Cork", 5, 35), *words("87", 105, 35),
        *words("Bonn", 5, 50), *words("91", 105, 50),
    ]  # fmt: skip
    (table,) = blocks(lines_of(with_tables(page, rules, posts)))
    assert table.splitlines()[2:] == ["| Cork | 87 |", "| Bonn | 91 |"]


def test_rows_that_no_line_parts_stay_rows() -> None:
    rules, posts = drawn([0, 100, 200, 300], [0, 20, 80])
    named = [(35, "Ax"), (50, "Bx"), (65, "Cx")]
    body = [word for y, name in named for x in (5, 105, 205) for word in words(name, x, y)]
    page = [*words("Site", 5, 15), *words("Lead", 105, 15), *words("Town", 205, 15), *body]
    (table,) = blocks(lines_of(with_tables(page, rules, posts)))
    assert table.splitlines()[2:] == ["| Ax | Ax | Ax |", "| Bx | Bx | Bx |", "| Cx | Cx | Cx |"]


def test_lines_that_do_not_touch_make_no_table() -> None:
    assert lattices([Rule(0, 100, 0), Rule(0, 100, 50)], [Post(200, 0, 50), Post(300, 0, 50)]) == []
    assert lattices([Rule(0, 100, 0)] * 400, [Post(50, 0, 10)] * 400) == []
