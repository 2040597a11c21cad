import string
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.reports.rules.chunking import Chunk, PageText, chunk_pages
from querymill_workers.retrievers.reports.rules.layout import blocks


def words(text: str) -> int:
    return len(text.split())


def visible(text: str) -> int:
    return sum(not character.isspace() for character in text)


def cut(text: str, *, size: int = 12, overlap: int = 0) -> list[str]:
    return [chunk.text for chunk in chunk_pages([PageText(1, text)], count_tokens=words, size=size, overlap=overlap)]


def line(name: str, count: int = 4) -> str:
    return " ".join([name] * count)


table_rows = st.lists(st.sampled_from(["Net sales  12  34", "Margin  5 %  6 %", "| a | b |", "|---|---|", "x\ty"]))
prose = st.text(alphabet=string.ascii_letters + " .。！，中文\n|", max_size=80)
page_texts = st.lists(
    st.one_of(prose, table_rows.map("\n".join), st.sampled_from(["", "\n", "\f", "x" * 70, "。" * 9])), max_size=8
).map("\n".join)


def test_paragraphs_that_fit_share_a_chunk() -> None:
    assert cut("one two\n\nthree four\n\n\nfive") == ["one two\n\nthree four\n\nfive"]


def test_a_chunk_ends_between_paragraphs_where_it_can() -> None:
    assert cut(f"{line('a', 8)}\n\n{line('b')}\n{line('c')}") == [line("a", 8), f"{line('b')}\n{line('c')}"]


def test_a_chunk_less_than_half_full_takes_the_first_lines_of_the_next_paragraph() -> None:
    text = f"heading\n\n{line('a')}\n{line('b')}\n{line('c')}"
    assert cut(text) == [f"heading\n\n{line('a')}\n{line('b')}", line("c")]


def test_a_line_that_fits_a_chunk_stays_whole() -> None:
    sentences = "One two three four. Five six seven eight. Nine ten eleven twelve."
    assert cut(f"heading\n\n{sentences}") == ["heading", sentences]


def test_a_paragraph_too_long_is_cut_between_lines() -> None:
    assert cut("\n".join(map(line, "abcde"))) == [
        "\n".join(map(line, "abc")),
        "\n".join(map(line, "de")),
    ]


def test_a_line_too_long_is_cut_between_sentences_in_english_and_chinese() -> None:
    english = "It rose by 3.5 per cent. Did it? Yes! So the board of Aurora Foods said in March."
    assert cut(english, size=9) == [
        "It rose by 3.5 per cent. Did it? Yes!",
        "So the board of Aurora Foods said in March.",
    ]
    chinese = "营业收入增长。净利润下降！为什么？原因有三；其一如下“成本上升。”其二略"
    chunks = chunk_pages([PageText(1, chinese)], count_tokens=visible, size=14, overlap=0)
    assert [chunk.text for chunk in chunks] == [
        "营业收入增长。净利润下降！",
        "为什么？原因有三；",
        "其一如下“成本上升。”其二略",
    ]


def test_a_sentence_too_long_is_cut_at_blanks_and_without_blanks_anywhere() -> None:
    assert all(words(chunk) <= 12 for chunk in cut(line("word", 40)))
    assert " ".join(cut(line("word", 40))) == line("word", 40)
    chunks = chunk_pages([PageText(1, "x" * 100)], count_tokens=len, size=30, overlap=0)
    assert "".join(chunk.text for chunk in chunks) == "x" * 100
    assert max(chunk.tokens for chunk in chunks) <= 30


def test_chunks_never_cross_pages_and_are_numbered_over_the_document() -> None:
    pages = [PageText(4, "one"), PageText(5, " \n\t\n"), PageText(9, f"{line('a', 9)}\n\n{line('b', 9)}")]
    assert chunk_pages(pages, count_tokens=words, size=12, overlap=0) == [
        Chunk(4, 0, "one", 1),
        Chunk(9, 1, line("a", 9), 9),
        Chunk(9, 2, line("b", 9), 9),
    ]


def test_the_next_chunk_of_a_page_repeats_the_last_lines_and_sentences_of_the_one_before() -> None:
    assert cut("\n".join(map(line, "abcd")), size=12, overlap=4) == [
        "\n".join(map(line, "abc")),
        "\n".join(map(line, "cd")),
    ]
    sentences = "One two three. Four five six. Seven eight nine."
    assert cut(f"{sentences} Ten eleven.", size=9, overlap=4) == [
        sentences,
        "Seven eight nine. Ten eleven.",
    ]
    assert cut(f"{sentences}\n\nTen eleven.", size=9, overlap=4) == [
        sentences,
        "Seven eight nine.\n\nTen eleven.",
    ]


def test_nothing_is_repeated_over_a_page_end_or_out_of_a_table() -> None:
    pages = [PageText(1, "one two"), PageText(2, "three four")]
    chunks = chunk_pages(pages, count_tokens=words, size=3, overlap=2)
    assert [chunk.text for chunk in chunks] == ["one two", "three four"]
    before = f"{line('before', 5)}\n\nSales  1\nMargin  3"
    assert cut(f"{before}\n\n{line('after', 6)}", size=12, overlap=4) == [before, line("after", 6)]


def test_a_table_that_fits_stays_whole_behind_the_line_that_announces_it() -> None:
    table = "  2022  2021\nSales  10  9\nCosts:\n\n  Staff  4  3"
    assert cut(f"{line('before', 8)}\nCosts were:\n{table}", size=12, overlap=2) == [
        f"{line('before', 8)}\nCosts were:",
        "Costs were:\n\n  2022  2021\nSales  10  9\nCosts:\n  Staff  4  3",
    ]


@pytest.mark.parametrize(
    ("header", "row"), [("| name | sum |\n|---|---|", "| r{} | {} |"), ("name  2022  2021", "r{}  {}  5")]
)
def test_a_table_too_long_is_cut_between_rows_and_repeats_its_header(header: str, row: str) -> None:
    rows = [row.format(number, number) for number in range(9)]
    chunks = cut("\n".join([header, *rows]), size=20, overlap=5)
    assert len(chunks) > 1
    assert all(chunk.startswith(header + "\n") for chunk in chunks)
    assert [own for chunk in chunks for own in chunk.removeprefix(header + "\n").split("\n")] == rows


def test_a_header_that_leaves_rows_no_room_is_not_repeated() -> None:
    header = "  ".join(["column"] * 8)
    rows = [f"r{number}  1  2  3" for number in range(4)]
    assert cut("\n".join([header, *rows]), size=12) == [f"{header}\n{rows[0]}", "\n".join(rows[1:])]


def test_a_row_that_the_header_leaves_no_room_stands_whole_without_it() -> None:
    row = "  ".join(["cell"] * 10)
    assert cut(f"a  b  c\n1  2  3\n{row}", size=12) == ["a  b  c\n1  2  3", row]
    assert cut(f"a  b  c\n{row}\n1  2  3", size=12) == ["a  b  c", row, "a  b  c\n1  2  3"]


def test_two_blanks_after_a_sentence_make_no_table() -> None:
    text = "It rose.  So did costs.\nIt fell!  Nobody knew."
    assert [block.table for block in blocks(text)] == [False]
    assert [block.table for block in blocks("Rent  12\nin all")] == [False]
    assert [block.table for block in blocks("Rent .....  12\nFuel .....  34")] == [True]


@given(st.lists(page_texts, max_size=3), st.integers(5, 40), st.integers(0, 4))
def test_every_line_is_in_a_chunk_of_its_page_and_no_chunk_is_too_long(
    texts: list[str], size: int, overlap: int
) -> None:
    pages = [PageText(number, text) for number, text in enumerate(texts, start=1)]
    chunks = chunk_pages(pages, count_tokens=visible, size=size, overlap=overlap)
    assert [chunk.number for chunk in chunks] == list(range(len(chunks)))
    for page in pages:
        own = [chunk for chunk in chunks if chunk.page == page.page]
        assert all(chunk.text.strip() and visible(chunk.text) <= chunk.tokens <= size for chunk in own)
        for written in filter(str.strip, page.text.splitlines()):
            if visible(written) <= size:
                assert any(written.strip() in chunk.text for chunk in own)


@given(prose, st.integers(5, 40))
def test_without_overlap_and_tables_the_chunks_are_the_page(text: str, size: int) -> None:
    plain = text.replace("|", "")
    while "  " in plain:
        plain = plain.replace("  ", " ")
    chunks = chunk_pages([PageText(1, plain)], count_tokens=visible, size=size, overlap=0)
    assert "".join("".join(chunk.text for chunk in chunks).split()) == "".join(plain.split())


def test_every_character_is_counted_at_most_a_few_times() -> None:
    counted = 0

    def count(text: str) -> int:
        nonlocal counted
        counted += len(text)
        return len(text) // 4

    text = "\n\n".join(
        [
            "A short sentence of prose. " * 400,
            "x" * 9_000,
            "\n".join(["Net sales  1  2"] * 900),
            "\n".join(["word " * 9] * 500),
        ]
    )
    chunk_pages([PageText(1, text)], count_tokens=count)
    assert counted < 4 * len(text)


@pytest.mark.parametrize("text", ["x" * 2_000_000, "." * 2_000_000, "a  b\n\n\n" * 200_000, " " * 2_000_000 + "x"])
def test_a_page_of_two_megabytes_is_cut_in_linear_time(text: str) -> None:
    started = process_time()
    chunk_pages([PageText(1, text)], count_tokens=lambda part: len(part) // 4)
    assert process_time() - started < 10


@pytest.mark.parametrize(("size", "overlap"), [(50, 50), (0, 0), (10, -1)])
def test_an_overlap_as_long_as_a_chunk_is_refused(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="cannot overlap"):
        chunk_pages([], count_tokens=len, size=size, overlap=overlap)
