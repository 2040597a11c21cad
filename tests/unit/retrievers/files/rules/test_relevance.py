"""Relevance without a language model, and excerpts."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.files.rules.relevance import (
    Evidence,
    FileProfiles,
    RelevanceProfile,
    evidence_of,
    excerpt,
    intent_of,
    profile_of,
    relevance,
    rounded,
    speaking,
    windows_of,
)
from querymill_workers.text import bm25
from querymill_workers.text.calibration import Calibration

PROFILE = RelevanceProfile({"lexical": 5.0, "names": 2.0}, Calibration(((0.0, 0.0), (2.0, 0.5), (6.0, 1.0))))


def scored(text_counts: dict[str, int], *terms: tuple[str, int]) -> bm25.Scored:
    asked = [bm25.QueryTerm(term, 1, df) for term, df in terms]
    return bm25.score(
        text_counts, sum(text_counts.values()), terms=asked, statistics=bm25.Statistics(units=10, length=100)
    )


def test_evidence_is_weighed_and_read_off_the_bands() -> None:
    evidence = Evidence(lexical=0.4, covered=1.0, path=0.0, names=0.5, passage=0.0)
    assert relevance(evidence, FileProfiles(PROFILE)) == pytest.approx(0.5 + 0.5 * (3.0 - 2.0) / 4.0)


def test_vectors_count_only_where_a_file_has_one_and_they_were_measured() -> None:
    with_vectors = RelevanceProfile({"vector": 1.0}, Calibration(((0.0, 0.0), (1.0, 1.0))))
    profiles = FileProfiles(PROFILE, with_vectors)
    evidence = Evidence(lexical=0.4, covered=1.0, path=0.0, names=0.5, passage=0.0, vector=0.9)
    assert relevance(evidence, profiles) == pytest.approx(0.9)
    assert relevance(evidence, FileProfiles(PROFILE)) == pytest.approx(0.625)


def test_a_word_that_no_file_has_weighs_on_the_share_that_is_covered() -> None:
    found = scored({"restor": 1}, ("restor", 1))
    assert intent_of("restore", [found]).share(["restor"]) == 1.0
    assert intent_of("restore zeppelin", [found]).share(["restor"]) < 0.5


def test_nothing_found_is_no_evidence() -> None:
    evidence = evidence_of(intent_of("zeppelin", []), None, path="a.py", names=[], windows=[], cosine=None)
    assert evidence == Evidence(0.0, 0.0, 0.0, 0.0, 0.0)


def test_names_and_path_count_by_their_words() -> None:
    intent = intent_of("restore messages", [scored({"restor": 1, "messag": 1}, ("restor", 1), ("messag", 1))])
    found = evidence_of(intent, None, path="transport/messages.py", names=["restore_visible"], windows=[], cosine=None)
    assert found.path == pytest.approx(0.5)
    assert found.names == pytest.approx(0.5)


def test_an_excerpt_is_the_windows_that_speak_of_the_intent() -> None:
    lines = ["nothing here"] * 200
    lines[100] = "def restore_visible(self):"
    intent = intent_of("restore visible", [scored({"restor": 1, "visibl": 1}, ("restor", 1), ("visibl", 1))])
    ((first, last),) = excerpt(windows_of(intent, "\n".join(lines)))
    assert first <= 101 <= last
    assert last - first < 40


def test_a_file_with_none_of_the_words_has_no_excerpt() -> None:
    intent = intent_of("restore", [scored({"restor": 1}, ("restor", 1))])
    assert excerpt(windows_of(intent, "x = 1\n")) == []
    assert excerpt(windows_of(intent, "")) == []


def test_names_that_speak_of_the_intent_come_first_whatever_their_case_and_form() -> None:
    terms = ("restor", 1), ("messag", 1), ("retri", 1)
    intent = intent_of("restored messages retried", [scored({term: 1 for term, _ in terms}, *terms)])
    assert speaking(intent, ["paint", "restoreMessages", "RETRY", "restores"]) == [
        "restoreMessages",
        "RETRY",
        "restores",
    ]


@pytest.mark.parametrize("asked", ["(a+)+$", "[", "a|b", ".*"])
def test_a_request_is_never_an_expression(asked: str) -> None:
    intent = intent_of(asked, [scored({"a": 1}, ("a", 1))])
    assert [window.share for window in windows_of(intent, "xyz\n")] == [0.0]


SHARES = st.floats(0, 1)
EVIDENCE = st.builds(Evidence, SHARES, SHARES, SHARES, SHARES, SHARES, st.none() | st.floats(-1, 1))


@given(EVIDENCE, st.floats(0, 1))
def test_more_of_what_is_weighed_is_never_less_relevant(evidence: Evidence, more: float) -> None:
    profiles = FileProfiles(PROFILE)
    stronger = Evidence(max(evidence.lexical, more), evidence.covered, evidence.path, evidence.names, evidence.passage)
    assert 0.0 <= relevance(evidence, profiles) <= relevance(stronger, profiles) <= 1.0


@given(EVIDENCE)
def test_rounding_keeps_six_decimals_and_a_missing_vector(evidence: Evidence) -> None:
    short = rounded(evidence)
    assert rounded(short) == short
    assert short.lexical == pytest.approx(evidence.lexical, abs=1e-6)
    assert (short.vector is None) == (evidence.vector is None)


def test_the_profile_with_vectors_needs_a_vector_and_a_measurement() -> None:
    other = RelevanceProfile({"vector": 1.0}, Calibration(((0.0, 0.0), (1.0, 1.0))))
    with_vector = Evidence(0.0, 0.0, 0.0, 0.0, 0.0, vector=0.0)
    without = Evidence(0.0, 0.0, 0.0, 0.0, 0.0)
    assert profile_of(with_vector, FileProfiles(PROFILE, other)) is other
    assert (
        profile_of(without, FileProfiles(PROFILE, other)) is profile_of(with_vector, FileProfiles(PROFILE)) is PROFILE
    )


def test_a_window_with_less_than_half_of_the_best_is_not_shown() -> None:
    terms = ("restor", 1), ("visibl", 1), ("messag", 1)
    intent = intent_of("restore visible messages", [scored({term: 1 for term, _ in terms}, *terms)])
    lines = ["nothing"] * 200
    lines[10], lines[100], lines[190] = "restore visible messages", "restore", "restore visible"
    assert excerpt(windows_of(intent, "\n".join(lines))) == [(1, 40), (161, 200)]


@given(st.lists(st.sampled_from(["restore it", "visible", "nothing", ""]), max_size=200))
def test_an_excerpt_has_at_most_three_parts_of_the_file_that_do_not_overlap(lines: list[str]) -> None:
    intent = intent_of("restore visible", [scored({"restor": 1, "visibl": 1}, ("restor", 1), ("visibl", 1))])
    parts = excerpt(windows_of(intent, "\n".join(lines)))
    assert len(parts) <= 3
    assert all(1 <= first <= last <= len(lines) for first, last in parts)
    assert all(before[1] < after[0] for before, after in itertools.pairwise(parts))
    assert bool(parts) == any(line in ("restore it", "visible") for line in lines)
