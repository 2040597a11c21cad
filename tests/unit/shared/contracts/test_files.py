"""What a search over files may ask for."""

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.jobs import decode_request


def test_the_first_steps_are_the_searches_that_were_asked_for() -> None:
    plain = FileSearch(query="q", collection="c")
    assert plain.steps == ("search-1-words",)
    every = FileSearch(query="q", collection="c", channels=("words", "vectors"), patterns=("a.b",))
    assert every.steps == ("search-1-words", "search-1-vectors", "search-1-patterns")
    assert decode_request(every.model_dump_json()) == every


def test_one_shot_has_one_round_whatever_is_said() -> None:
    assert FileSearch(query="q", collection="c", mode="oneshot", rounds=3).max_rounds == 1


READ_BY_RE2 = [
    r"\p{Han}+", "foo(?i)bar", "(?<name>a)", r"\Qa.b\E", r"a\z", r"\\1", r"\Q(?=\1\E", r"[(?=]", r"[[:alpha:](?!]",
    r"[]\1]", r"\x{4e00}", r"(?P<name>a)", r"\101", "(?:a)",
]  # fmt: skip


@pytest.mark.parametrize("pattern", READ_BY_RE2)
def test_what_re2_may_read_is_left_to_it(pattern: str) -> None:
    assert FileSearch(query="q", collection="c", patterns=(pattern,)).patterns == (pattern,)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("query", " "), ("rounds", 4), ("rounds", 0), ("candidates", 19), ("candidates", 51), ("top_n", 0),
        ("patterns", ["(?=a)b"]), ("patterns", [r"\\(?<!a)b"]), ("patterns", [r"(a)\1"]), ("patterns", [r"\Q(\E(?!a)"]),
        ("patterns", ["a" * 301]),
        ("patterns", ["a"] * 2), ("patterns", [str(n) for n in range(9)]), ("globs", [""]), ("globs", [" "]),
        ("globs", ["a\nb"]), ("channels", []), ("channels", ["words", "words"]), ("channels", ["smell"]),
        ("token_budget", 10), ("context_budget", -1), ("evaluator", "oracle"), ("deadline", float("nan")),
        ("anything", 1),
    ],
)  # fmt: skip
def test_a_request_that_breaks_a_rule_is_refused_with_the_field(field: str, value: object) -> None:
    with pytest.raises(ValidationError, match=field):
        FileSearch.model_validate({"query": "q", "collection": "c", field: value})
