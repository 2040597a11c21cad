import pytest

from querymill_workers.retrievers.files.rules.question_frames import unframed


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("Where is the code that handles retries?", "retries?"),
        ("Where is the connection pool defined?", "the connection pool"),
        ("Can you show me where sessions are stored is done?", "sessions are stored"),
        ("where do we handle expired tokens", "expired tokens"),
        ("in which module is the scheduler", "the scheduler"),
        ("which file implements rate limiting", "rate limiting"),
        ("what code is responsible for acks", "acks"),
        ("find the function for parsing dates", "parsing dates"),
        ("I am looking for the implementation of chords", "chords"),
        ("files that contain secrets", "secrets"),
        ("function to strip spaces", "strip spaces"),
        ("how does prefetch work?", "how does prefetch"),
    ],
)
def test_the_frame_of_a_question_is_dropped(question: str, subject: str) -> None:
    assert unframed(question) == subject


@pytest.mark.parametrize(
    "question",
    [
        "the class of an object",
        "list files in a directory",
        "open the file for reading",
        "find class by name",
        "which class inherits from Task",
        "what does this function do",
        "where clause in sql",
        "code review checklist",
        "get the type of a method",
        # Nothing would be left.
        "the code for",
        "where is",
    ],
)
def test_a_question_whose_words_are_its_subject_stays(question: str) -> None:
    assert unframed(question) == question


@pytest.mark.parametrize("rest", ["ships and soup " * 50, "ships" + " " * 20_000 + "soup"])
def test_a_text_too_long_for_such_a_question_stays_whole(rest: str) -> None:
    question = f"where is the code that handles {rest}"
    assert unframed(question) == question
