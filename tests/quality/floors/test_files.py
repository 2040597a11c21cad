"""What `files` must find however it is asked, by words alone."""

from typing import Final

import pytest

from tests.quality.floors.files import CHINESE, GAPS, NAMED, NATURAL, TESTED, Question, ask

pytestmark = pytest.mark.nightly

#: The share of questions whose answering definition the context must hold. Measured: 0.95.
FLOOR_CONTEXT = 0.90

#: How people ask for code, and what for. At least this share must be the first hit, however it is asked for.
FRAMES: Final = ("{}", "Where is the code that handles {}?", "which file implements {}", "find the function for {}")
SUBJECTS: Final = {
    "the pause before a failed delivery is tried again": "parcels/delivery/retries.py",
    "a limit of requests per second": "parcels/api/limits.py",
    "the distance between two coordinates": "parcels/geo/distance.py",
    "the order of the stops of a van": "parcels/delivery/routes.py",
    "the signature of a session cookie": "parcels/api/sessions.py",
    "the price of an express parcel": "parcels/billing/prices.py",
    "the checksum of a barcode": "parcels/labels/barcodes.py",
    "environment variables": "parcels/settings.py",
}
FLOOR_FRAMED: Final = 0.95


def test_how_code_is_asked_for_does_not_matter() -> None:
    worse = []
    for subject, path in SUBJECTS.items():
        for frame in FRAMES:
            found = [hit.path for hit in ask(Question(frame.format(subject), (path,))).results[:3]]
            worse += [] if found[:1] == [path] else [f"{frame.format(subject)}: {found}"]
    share = 1 - len(worse) / (len(SUBJECTS) * len(FRAMES))
    assert share >= FLOOR_FRAMED, (share, worse)


def test_the_context_holds_the_definition_that_answers() -> None:
    asked = [question for question in (*NATURAL, *NAMED, *CHINESE) if question.definition]
    lacking = [question.text for question in asked if not holds(ask(question).context, question.definition)]
    share = 1 - len(lacking) / len(asked)
    assert share >= FLOOR_CONTEXT, (share, lacking)


def holds(context: str, definition: str) -> bool:
    """Return whether a definition is shown with its lines, and not only listed in the map that ends the context."""
    shown, _, _ = context.partition("\nAlso defined in the files found:")
    return definition in shown


@pytest.mark.parametrize("question", NAMED, ids=[question.answers[0] for question in NAMED])
def test_what_the_request_names_comes_first(question: Question) -> None:
    assert ask(question).results[0].path == question.answers[0]


@pytest.mark.parametrize("question", GAPS, ids=[question.answers[0] for question in GAPS])
def test_a_file_that_only_what_was_found_leads_to_is_found(question: Question) -> None:
    hit = next(hit for hit in ask(question).results if hit.path == question.answers[0])
    assert "which parcels/" in hit.why  # "defines …, which parcels/… uses"


@pytest.mark.parametrize("question", TESTED, ids=[question.answers[0] for question in TESTED])
def test_tests_stand_below_the_code_that_they_test(question: Question) -> None:
    source, test = question.answers
    found = [(hit.path, hit.kind) for hit in ask(question, return_low=True).results]
    assert found[0] == (source, "code")
    asked = Question(f"which test covers: {question.text}", ())
    assert (test, "tests") in [(hit.path, hit.kind) for hit in ask(asked).results[:2]]
