"""What a definition is worth in the context."""

import pytest

from querymill_workers.retrievers.files.rules.worth import ContextPart, share_of_part, with_calls, worth


def test_a_definition_is_worth_its_score_and_its_file() -> None:
    assert worth(0.6, relevance=1.0) == pytest.approx(0.6)
    assert worth(0.6, relevance=0.5) == pytest.approx(0.45)
    assert worth(0.6, relevance=1.0, share=0.5) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("label", "kind_share", "defines", "share"),
    [
        ("Pool.take", 1.0, True, 1.0),
        ("", 1.0, True, 0.6),  # imports and headings of a file that has definitions
        ("", 1.0, False, 1.0),  # a file of settings is nothing but such lines
        ("Pool.take", 0.6, True, 0.6),
        ("tests.take", 1.0, True, 0.6),  # tests in the file that they test, as in Rust
        ("TestPool.test_take", 1.0, True, 0.6),
        ("Contest.latest", 1.0, True, 1.0),
        ("", 0.6, True, 0.36),
    ],
)
def test_tests_and_what_is_outside_of_definitions_count_less(
    label: str, kind_share: float, defines: bool, share: float
) -> None:
    found = share_of_part(label, kind_share=kind_share, defines=defines, tests_asked=False)
    assert found == pytest.approx(share)


def test_tests_that_are_asked_for_count_whole() -> None:
    assert share_of_part("TestPool.test_take", kind_share=1.0, defines=True, tests_asked=True) == 1.0


CODE = {"a.py": "def deliver():\n    return next_pause()\n", "b.py": "def next_pause():\n    return 3\n"}


def test_what_the_best_definitions_call_gains() -> None:
    parts = [
        ContextPart("a.py", [(1, 2)], "deliver", 0.8),
        ContextPart("b.py", [(1, 2)], "next_pause, cell 3", 0.1),
        ContextPart("b.py", [(1, 2)], "", 0.05),
    ]
    assert [part.worth for part in with_calls(parts, CODE)] == pytest.approx([0.8, 0.22, 0.05])


def test_a_name_that_many_definitions_have_gains_nothing() -> None:
    parts = [ContextPart("a.py", [(1, 2)], "deliver", 0.8)]
    parts += [ContextPart("b.py", [(1, 2)], f"Class{number}.next_pause", 0.1) for number in range(4)]
    assert with_calls(parts, CODE) == parts


def test_a_definition_gains_nothing_by_calling_itself_or_without_contents() -> None:
    itself = [ContextPart("a.py", [(1, 2)], "deliver", 0.8), ContextPart("b.py", [(1, 2)], "next_pause", 0.1)]
    assert with_calls(itself[1:], CODE) == itself[1:]
    assert with_calls(itself, {}) == itself
