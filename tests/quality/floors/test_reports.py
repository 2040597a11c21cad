"""What `reports` must find of comparisons, of the words of analysts, and of pages that all reports share."""

import pytest

from tests.quality.floors.reports import COMPARISONS, JARGON, Question, answers, found, page_number

pytestmark = pytest.mark.nightly

#: Among the first so many hits, this share of comparisons must have a page of every side. Measured: 1.00 (0.60 by the
#: formula of agreement, in turn too).
FIRST, FLOOR_SIDES = 6, 0.90

#: The least share of questions in the words of analysts whose page is the first hit, and the most without a glossary.
FLOOR_JARGON, CEILING_WITHOUT = 0.75, 0.34


def test_both_sides_of_a_comparison_are_among_the_first_hits() -> None:
    incomplete = []
    for question in COMPARISONS:
        first = set(found(question)[:FIRST])
        if not all(first & pages for pages in answers(question)):
            incomplete.append((question.text, sorted(first)))
    share = 1 - len(incomplete) / len(COMPARISONS)
    assert share >= FLOOR_SIDES, (share, incomplete)


def test_the_words_of_analysts_lead_to_the_lines_behind_them() -> None:
    def share(**fields: object) -> tuple[float, list[str]]:
        first = {question.text: found(question, **fields)[:1] for question in JARGON}
        missed = [question.text for question in JARGON if not set(first[question.text]) & answers(question)[0]]
        return 1 - len(missed) / len(JARGON), missed

    (with_glossary, missed), (without, _) = share(), share(glossary=False)
    assert (with_glossary >= FLOOR_JARGON, without <= CEILING_WITHOUT) == (True, True), (with_glossary, without, missed)


def test_a_page_that_all_reports_share_takes_one_place() -> None:
    question = Question("Which committees does the board have for audit, pay and nomination?", ())
    hits = found(question, top_n=10)
    assert sum(page == page_number("governance") for _, page in hits) == 1
