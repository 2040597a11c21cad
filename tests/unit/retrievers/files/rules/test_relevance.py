"""Relevance without a language model."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.files.rules.intent import Intent, intent_of, speaking
from querymill_workers.retrievers.files.rules.relevance import (
    Evidence,
    FileProfiles,
    RelevanceProfile,
    evidence_of,
    fields_score,
    least_by_words,
    profile_of,
    relevance,
    rounded,
)
from querymill_workers.text import bm25
from querymill_workers.text.calibration import Calibration

PROFILE = RelevanceProfile({"lexical": 5.0, "names": 2.0}, Calibration(((0.0, 0.0), (2.0, 0.5), (6.0, 1.0))))


def scored(text_counts: dict[str, int], *terms: tuple[str, int]) -> bm25.Scored:
    asked = [bm25.QueryTerm(term, 1, df) for term, df in terms]
    return bm25.score(
        text_counts, sum(text_counts.values()), terms=asked, statistics=bm25.IndexStatistics(units=10, length=100)
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


def test_a_file_that_its_words_make_relevant_is_medium_however_low_its_cosine() -> None:
    # Bands of one model hid every file from the vectors of another, whose cosines are all lower.
    with_vectors = RelevanceProfile({"vector": 8.0}, Calibration(((6.4, 0.0), (8.0, 1.0))))
    words_alone = RelevanceProfile({"lexical": 1.0}, Calibration(((0.0, 0.0), (1.0, 1.0))))
    profiles = FileProfiles(words_alone, with_vectors)
    evidence = Evidence(lexical=0.9, covered=1.0, path=0.0, names=0.0, passage=0.0, vector=0.4)
    assert least_by_words(evidence, profiles) == relevance(evidence, profiles) == pytest.approx(0.508)
    assert least_by_words(replace(evidence, lexical=0.49), profiles) == 0.0
    assert least_by_words(replace(evidence, vector=None), profiles) == 0.0
    assert relevance(replace(evidence, vector=1.0), profiles) == 1.0


def test_a_word_that_no_file_has_weighs_on_the_share_that_is_covered() -> None:
    found = scored({"restor": 1}, ("restor", 1))
    assert intent_of("restore", [found]).share(["restor"]) == 1.0
    assert intent_of("restore zeppelin", [found]).share(["restor"]) < 0.5


def test_nothing_found_is_no_evidence() -> None:
    evidence = evidence_of(
        intent_of("zeppelin", []), None, path="a.py", names=[], passage=[], definitions=0.0, cosine=None
    )
    assert evidence == Evidence(0.0, 0.0, 0.0, 0.0, 0.0)


def test_names_and_path_count_by_their_words() -> None:
    intent = intent_of("restore messages", [scored({"restor": 1, "messag": 1}, ("restor", 1), ("messag", 1))])
    found = evidence_of(
        intent,
        None,
        path="transport/messages.py",
        names=["restore_visible"],
        passage=[],
        definitions=0.0,
        cosine=None,
    )
    assert found.path == pytest.approx(0.5)
    assert found.names == pytest.approx(0.5)


def test_names_that_speak_of_the_intent_come_first_whatever_their_case_and_form() -> None:
    terms = ("restor", 1), ("messag", 1), ("retri", 1)
    intent = intent_of("restored messages retried", [scored({term: 1 for term, _ in terms}, *terms)])
    assert speaking(intent, ["paint", "restoreMessages", "RETRY", "restores"]) == [
        "restoreMessages",
        "RETRY",
        "restores",
    ]


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


def test_a_word_in_the_path_counts_five_times() -> None:
    # Twice in the index: once in the path, which weighs 5, and once in the text, which weighs 1.
    found = bm25.score({"rate": 2}, 10, terms=[bm25.QueryTerm("rate", 1, 1)], statistics=bm25.IndexStatistics(10, 100))
    intent = Intent({"rate": 2.0, "limit": 1.0}, found.score)
    assert fields_score(intent, found, path=["rate"], names=[]) == pytest.approx(2 * 6 / (6 + 3) / 3)
