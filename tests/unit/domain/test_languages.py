import pytest

from querymill_workers.text.languages import language_of


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("revenue?", "en"),
        ("营业收入?", "zh"),
        ("请用vtkActor渲染", "zh"),
        ("What does 毛利 mean in this report?", "en"),
        ("Nordhav 的 revenue 是多少？", "zh"),
        ("毛利 margin", "zh"),
        ("2022?", "en"),
        ("Wie hoch war der Umsatz?", "en"),
        ("", "en"),
    ],
)
def test_the_language_is_the_questions(question: str, language: str) -> None:
    assert language_of(question) == language
