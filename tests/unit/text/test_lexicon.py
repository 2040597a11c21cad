"""The tables of words: those of the package, and how one of a user is read."""

from importlib import resources
from pathlib import Path

import pytest

from querymill_workers.lexicon import thesauri
from querymill_workers.text.lexicon import DOMAINS, bundled, own_rows, rows_of

HEADER = "terms\tenglish\tdomains\n"


def table(name: str) -> str:
    return (resources.files("querymill_workers.text.lexicon") / f"{name}.tsv").read_text(encoding="utf-8")


def test_the_tables_of_the_package_keep_the_rules_of_a_users() -> None:
    assert own_rows(table("zh_en"), "zh_en.tsv") + own_rows(table("synonyms"), "synonyms.tsv") == bundled()


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_retriever_has_one_row_for_each_chinese_word(domain: str) -> None:
    words = [term for row in bundled() if row.is_of(domain) and row.english for term in row.terms]
    assert len(words) == len(set(words)) > 100


@pytest.mark.parametrize("domain", ["conversations", "modules"])
def test_where_at_most_three_synonyms_are_added_a_term_has_one_meaning(domain: str) -> None:
    terms = [term for row in bundled() if row.is_of(domain) and not row.english for term in row.terms]
    assert len(terms) == len(set(terms)) > 200


@pytest.mark.parametrize("name", ["function_words", "technical_terms"])
def test_every_row_of_a_list_is_read(name: str) -> None:
    read = {
        ("stop", "*"), ("blank", "conversations"), ("question", "conversations"), ("question", "files"),
        ("name", "reports"), ("before", "reports"), ("technical", "conversations"), ("everyday", "conversations"),
    }  # fmt: skip
    rows = rows_of(table(name), name)
    assert {(row.use, " ".join(row.domains)) for row in rows} <= read


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "own.tsv: must begin with the names of its columns: terms, english, domains"),
        ("term\tdomains\n", "own.tsv line 1: must name the columns terms, english, domains, separated by tabs"),
        (HEADER + "工单\tticket\n", "own.tsv line 2: has 2 columns, must have 3: terms, english, domains"),
        (HEADER + "工单\t\"ticket\tfiles\n", "own.tsv line 2: unexpected end of data; a quoted value must end on"),
        (HEADER + "\n# of ours\n工单\tticket\tfile\n", "own.tsv line 4, column domains: 'file' is not"),
        (HEADER + "工单\tticket\treports\n", "'reports' is not one of conversations, files, modules, or *"),
        (HEADER + "工单\tticket\t \n", "column domains: must not be empty"),
        (HEADER + "工单 | \tticket\t*\n", "column terms: must not hold an empty term"),
        (HEADER + "工单\t票\t*\n", "column english: '票' must be an English word, in ASCII"),
        (HEADER + "工单 | ticket\tcase\t*\n", "column terms: 'ticket' must be Chinese; list synonyms in this column"),
        (HEADER + "工单 | 工单\t\t*\n", "column terms: a row without English must hold two synonyms or more"),
        (HEADER + "pool | object store\t\t*\n", "column terms: 'object store' must be one word for files"),
    ],
)  # fmt: skip
def test_a_row_that_breaks_a_rule_is_named(text: str, complaint: str, tmp_path: Path) -> None:
    own = tmp_path / "own.tsv"
    own.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"^QUERYMILL_LEXICON: ") as refused:
        thesauri(str(own))
    assert complaint in str(refused.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    own = tmp_path / "own.tsv"
    with pytest.raises(ValueError, match=r"QUERYMILL_LEXICON: .*No such file.*own\.tsv"):
        thesauri(str(own))
    own.write_text(HEADER, encoding="utf-16")
    with pytest.raises(ValueError, match=r"own\.tsv: must be UTF-8"):
        thesauri(str(own))


def test_the_rows_of_a_user_come_before_those_of_the_package(tmp_path: Path) -> None:
    own = tmp_path / "own.tsv"
    # As spreadsheets write it.
    text = f'\ufeff{HEADER}部署\trollout\tfiles\n"db | store"\t\tmodules\n'.replace("\n", "\r\n")
    own.write_bytes(text.encode())
    found = thesauri(str(own))
    assert found["files"].english["部署"] == ("rollout",)
    assert found["conversations"].english["部署"] == ("deploy",)
    assert found["modules"].synonyms["db"] == ("store", "database", "数据库")
    assert found["conversations"].synonyms["db"] == ("database", "数据库")


def test_a_table_of_synonyms_alone_needs_no_column_for_english() -> None:
    (row,) = own_rows("domains\tterms\n*\tpod | unit\n", "own.tsv")
    assert (row.terms, row.english) == (("pod", "unit"), ())
