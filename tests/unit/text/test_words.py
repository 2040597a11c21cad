"""The words of a text, as BM25 counts them."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.text.folding import fold
from querymill_workers.text.lexicon import listed
from querymill_workers.text.words import WORDS_VERSION, places, plain, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nine ships sail", ["nine", "ship", "sail"]),
        ("ＮＩＮＥ　ｓｈｉｐｓ", ["nine", "ship"]),
        ("Straße STRASSE", ["strass", "strass"]),
        ("the fleet of the harbour", ["fleet", "harbour"]),
        ("it doesn't, they've", []),
        ("Корабль в море", ["корабль", "в", "море"]),
        ("Μέγας Όμηρος", ["μέγασ", "όμηροσ"]),
        ("Café déjàVu", ["café", "déjàvu", "déjà", "vu"]),
        ("جملة، أخرى؟", ["جمله", "اخري"]),
        ("नमस्ते दुनिया।", ["नमस्ते", "दुनिया"]),
        ("\ud800broken\0 \ue000", ["broken"]),
        ("plan B, class C", ["plan", "b", "class", "c"]),
        ("", []),
        ("…！— \n\t", []),
    ],
)
def test_text_gives_folded_words_without_function_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vtkConeSource", ["vtkconesource", "vtk", "cone", "sourc"]),
        ("read_json_lines", ["read_json_lines", "read", "json", "line"]),
        ("__init__", ["init"]),
        ("MAX_SIZE", ["max_size", "max", "size"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("vtk.Core.vtkActor", ["vtk.core.vtkactor", "vtk", "core", "vtkactor", "vtk", "actor"]),
        ("sha256", ["sha256", "sha", "256"]),
        ("FY2019", ["fy2019", "fy", "2019"]),
        ("x_1", ["x_1"]),
        ("is_valid", ["is_valid", "valid"]),
        ("end.", ["end"]),
        ("wait...what_now", ["wait", "what_now"]),
    ],
)  # fmt: skip
def test_an_identifier_counts_whole_and_in_parts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2022", ["2022"]),
        ("3.14 and 2.0.1", ["3.14", "2.0.1", "2.0"]),
        ("1,452.4", ["1452.4"]),
        ("1,234,567.89", ["1234567.89"]),
        ("1.234.567,89", ["1234567.89"]),
        ("1\u00a0234\u202f567", ["1234567"]),
        ("1\u00a0234,50 €", ["1234.50"]),
        ("1'234'567 and 1’234’567", ["1234567", "1234567"]),
        ("12,34,567.8", ["1234567.8"]),
        ("1_000_000", ["1000000"]),
        ("12,5 0,001", ["12.5", "0.001"]),
        ("$1,234.50, (1,234km)", ["1234.50", "1234", "km"]),
        ("١٬٢٣٤٫٥", ["1234.5"]),
        ("1, 2, 3", ["1", "2", "3"]),
        ("1,2,3 2020,2021", ["1", "2", "3", "2020", "2021"]),
        ("in 2020, 300 ships", ["2020", "300", "ship"]),
        ("1.234.567", ["1.234.567", "1234567", "1.234"]),
        ("10%", ["10"]),
        ("２０２２年", ["2022", "年"]),
    ],
)
def test_a_number_is_one_word(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3.11.2", ["3.11.2", "3.11"]),
        ("v1.2.3", ["v1.2.3", "1.2.3", "1.2", "v1"]),
        ("python3.11", ["python3.11", "3.11", "python3", "python", "11"]),
        ("15.03.2024", ["15.03.2024", "15", "03", "2024"]),
        ("2024-03-15T10:00", ["2024-03-15", "2024", "03", "15t10", "15", "10", "00"]),
        ("15/03/2024", ["15/03/2024", "15", "03", "2024"]),
        ("C# C++ F# C++17", ["c#", "c", "c++", "c", "f#", "f", "c++", "c", "17"]),
        (".NET .gitignore", [".net", "net", ".gitignore", "gitignor"]),
        ("ASP.NET Node.js", ["asp.net", "asp", "net", "node.js", "node", "js"]),
        ("@task @app.task", ["@task", "task", "@app.task", "app.task", "app", "task"]),
        ("@acme/ui", ["@acme/ui", "acm", "ui"]),
        ("--dry-run $HOME", ["--dry-run", "dry", "run", "$home", "home"]),
        ("ada@acme.org $5", ["ada", "acme.org", "acm", "org", "5"]),
        ("src/app/main.py", ["src/app/main.py", "src", "app", "main.py", "main", "py"]),
        ("./main.py ../lib/x.h /usr/bin", ["main.py", "main", "py", "lib/x.h", "lib", "x.h", "usr/bin", "usr", "bin"]),
        ("and/or km/h 1/2 ---- //", ["km", "h", "1", "2"]),
        ("well-known", ["well", "known"]),
        ("the end. Next", ["end", "next"]),
    ],
)  # fmt: skip
def test_a_form_counts_as_written_and_in_parts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("👍", ["👍"]),
        ("👍🏽", ["👍🏽", "👍"]),
        ("👩🏽‍💻", ["👩🏽‍💻", "👩‍💻", "👩"]),
        ("❤️ ❤", ["❤", "❤"]),
        ("▶️ ok👍👍", ["▶", "ok", "👍", "👍"]),
        ("🇩🇪🇳🇴", ["🇩🇪", "🇳🇴"]),
        ("→ • ─── ©", []),
    ],
)
def test_an_emoji_is_a_word_and_so_is_what_it_is_made_of(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "ሰላም",
        "ᠮᠣᠩᠭᠣᠯ",
        "ᏣᎳᎩ",
        "ꭰꭱꭲ",
        "ქართული",
        "ᲥᲐᲠᲗᲣᲚᲘ",
        "𞤆𞤵𞤤𞤢𞤪",
        "ᱥᱟᱱᱛᱟᱲᱤ",
        "ꦗꦮ",
        "ߒߞߏ",
        "ትግርኛ",
        "ᓀᐦᐃᔭᐤ",
        "ⵜⴰⵎⴰⵣⵉⵖⵜ",
        "𐐔𐐯𐑅",
    ],
)
def test_a_word_of_any_script_with_blanks_is_one_word(text: str) -> None:
    assert words(f"{text}, {text}") == [text.casefold()] * 2


#: A word, and a line that has it between others.
WITHIN = [
    ("ท่าเรือ", "คำนวณค่าธรรมเนียมท่าเรือต่อวัน"),
    ("ค่าธรรมเนียมท่าเรือ", "คำนวณค่าธรรมเนียมท่าเรือต่อวัน"),
    ("ปี", "งบประมาณปีนี้เพิ่มขึ้น"),
    ("ຫຼວງ", "ນະຄອນຫຼວງວຽງຈັນ"),
    ("ປີ", "ສະບາຍດີປີໃໝ່"),
    ("ភាសា", "ខ្ញុំរៀនភាសាខ្មែរ"),
    ("ឆ្នាំ", "រីករាយឆ្នាំថ្មី"),
    ("စာ", "မြန်မာစာသင်သည်"),
    ("ကျောင်း", "သူသည်ကျောင်းသို့သွားသည်"),
    ("སྐད", "བོད་སྐད་ཡིག"),
    ("渲染", "请用渲染器"),
    ("東京", "私は東京に住む"),
    ("학교", "우리학교에서"),
    ("ꆈꌠ", "ꀉꆈꌠꉙ"),
]


@pytest.mark.parametrize(("word", "line"), WITHIN)
def test_a_word_within_a_line_is_found(word: str, line: str) -> None:
    assert words(word)
    assert set(words(word)) <= set(words(line))
    assert set(words(word)) <= {found for start, end, those in places(line) for found in those}


@pytest.mark.parametrize(("word", "line"), WITHIN)
def test_a_blank_without_a_width_between_words_hides_none(word: str, line: str) -> None:
    if "་" not in line:
        assert set(words(word)) <= set(words(line.replace(word, f"\u200b{word}\u200b")))


@pytest.mark.parametrize(
    "texts",
    [
        (
            "example",
            "exam\u00adple",
            "exam\u200bple",
            "exam\u2060ple",
            "exam\ufeffple",
            "exam\u200dple",
            "exam\u200cple",
        ),
        ("office", "oﬃce", "ｏｆｆｉｃｅ"),
        ("محمد", "مُحَمَّد", "محـــمد", "ﻣﺤﻤﺪ"),
        ("أحمد", "احمد", "إحمد", "ٱحمد"),
        ("کتاب", "كتاب"),
        ("علی", "علي", "على"),
        ("مدرسة", "مدرسه"),
        ("שלום", "שָׁלוֹם"),
        ("2024", "٢٠٢٤", "۲۰۲۴", "२०२४", "๒๐๒๔", "２０２４"),
        ("क्ष", "क्\u200dष"),
        ("ന്", "ൻ", "ന്\u200d"),
        ("한국", "한국"),
        ("ガラス", "ｶﾞﾗｽ"),
        ("葛城", "葛\U000e0100城"),
        ("1234567.89", "1,234,567.89", "1.234.567,89", "1'234'567.89", "1\u2009234\u2009567,89"),
    ],
)
def test_what_a_reader_takes_for_the_same_gives_the_same_words(texts: tuple[str, ...]) -> None:
    assert len({tuple(words(text)) for text in texts}) == 1


def test_a_persian_word_is_found_with_its_joiner_and_without_and_by_its_parts() -> None:
    assert words("کتاب‌ها") == ["كتابها", "كتاب", "ها"]
    assert set(words("کتابها")) | set(words("کتاب ها")) == set(words("کتاب‌ها"))


@pytest.mark.parametrize(
    ("text", "query", "shown"),
    [
        ("Ｔｈｅ　ｓｈｉｐ　ｓａｉｌｓ", "ship", "ｓｈｉｐ"),
        ("an exam\u00adple here", "example", "exam\u00adple"),
        ("der oﬃce-Stuhl", "office", "oﬃce-Stuhl"),
        ("قال مُحَمَّد هنا", "محمد", "مُحَمَّد"),
        ("about 1\u00a0234\u00a0567 ships", "1234567", "1\u00a0234\u00a0567"),
        ("x ｶﾞﾗｽ", "ガラ", "ｶﾞﾗ"),
        ("คำนวณค่าธรรมเนียม", "คำ", "คำ"),
        ("great 👩🏽‍💻!", "👩‍💻", "👩🏽‍💻"),
        ("in ٢٠٢٤, then", "2024", "٢٠٢٤"),
    ],
)
def test_a_place_is_where_the_word_stands_in_the_text(text: str, query: str, shown: str) -> None:
    wanted = words(query)[0]
    assert shown in [text[start:end] for start, end, those in places(text) if wanted in those]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("渲染器", ["渲染", "染器"]),
        ("猫", ["猫"]),
        ("请用vtkActor渲染", ["请用", "vtkactor", "vtk", "actor", "渲染"]),
        ("Python里的list怎么排序", ["python", "里的", "list", "怎么", "么排", "排序"]),
        ("你好，世界", ["你好", "世界"]),
        ("カタカナ", ["カタ", "タカ", "カナ"]),
        ("한국어", ["한국", "국어"]),
        ("𠮷野家", ["𠮷野", "野家"]),
    ],
)
def test_scripts_without_blanks_give_neighbouring_characters(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_a_very_long_word_is_cut_and_still_found_by_itself() -> None:
    (word,) = words("q" * 5_000)
    assert word == "q" * 64
    assert words("1" * 5_000) == ["1" * 64]


#: Text of what this rule treats, which chance alone seldom joins.
HARD = st.lists(
    st.sampled_from(
        [
            *"aB1.,'_-/@$#+ \n",
            *"ｆﬁéß中한ｶﾞท่ำเក្នစ်ပ",
            *"أىکـֽَ٣۴٫־",
            *"👍🏽👩💻❤🇩𞤆ൻ",
            "234",
            "12",
            "\ud800",
            *"\u00a0\u00ad\u200b\u200c\u200d\u202f\u2060\u20e3\ufe0f\ufeff\u0301",
        ]
    )
).map("".join)


@given(st.text() | HARD)
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert words(fold(text)) == words(text)


@given(st.text() | HARD)
def test_places_hold_the_words_of_the_text_in_order(text: str) -> None:
    found = list(places(text))
    assert [word for _, _, those in found for word in those] == words(text)
    assert all(0 <= start < end <= len(text) for start, end, _ in found)
    assert [start for start, _, _ in found] == sorted(start for start, _, _ in found)


@given(st.text() | HARD)
def test_every_word_begins_somewhere_in_the_plain_text(text: str) -> None:
    letters = plain(text)
    assert all((word[: max(1, len(word) - 2)] if word.isascii() else word) in letters for word in words(text))


@given(st.text() | HARD)
def test_any_text_gives_short_words_of_letters_and_digits(text: str) -> None:
    for word in words(text):
        assert 0 < len(word) <= 64
        assert "\0" not in word
        assert not any(character.isspace() for character in word)


@given(st.text(), st.text())
def test_a_blank_separates(left: str, right: str) -> None:
    assert words(f"{left} {right}") == words(left) + words(right)


@given(st.from_regex("[A-Za-z]{3,12}", fullmatch=True))
def test_a_word_in_capitals_is_the_same_word(word: str) -> None:
    assert words(word.upper()) == words(word.lower())


def test_other_function_words_in_the_index_are_another_version() -> None:
    """A change of the table raises `WORDS_VERSION`, and adds a line here."""
    left_out = {*listed("function_words", "stop", "*"), *listed("function_words", "blank", "conversations")}
    assert {1: "b540acd9f8b4c2a9", 2: "b540acd9f8b4c2a9"}[WORDS_VERSION] == sha256(
        "\n".join(sorted(left_out)).encode()
    ).hexdigest()[:16]
