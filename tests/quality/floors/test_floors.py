"""The floors: how well each retriever must answer a small judged set, through its real flow in memory."""

from collections.abc import Callable

import pytest

from tests.quality.floors import conversations, files, messages, modules, reports
from tests.quality.floors.measuring import Answered, Floor, reach

ALL = slice(None)
#: Ten of the questions in each run, all of them at night.
ASKED = pytest.mark.parametrize(
    "part", [slice(-10, None), pytest.param(ALL, marks=pytest.mark.nightly)], ids=["few", "all"]
)  # fmt: skip


def of_conversations(part: slice) -> Answered:
    world = conversations.load(is_bundled=part == ALL)
    asked = list(reversed(conversations.QUESTIONS))[part]  # the last ten are plain: words alone answer them
    return [
        (each.text, [hit.session_id for hit in conversations.hits(world, each.text)], each.answers) for each in asked
    ]


def of_files(part: slice) -> Answered:
    asked = [*files.NATURAL, *files.NAMED, *files.CHINESE][part]
    return [(each.text, [hit.path for hit in files.ask(each).results], each.answers) for each in asked]


def of_messages(part: slice) -> Answered:
    return [
        (query, messages.found(query, session_id=session), [f"{session}-{place}" for place in places])
        for session, query, places in messages.QUESTIONS[part]
    ]


def of_modules(part: slice) -> Answered:
    return [
        (query, [*map(str, modules.found(query))], [str(modules.TOPICS[topic]) for topic in topics])
        for query, topics in modules.QUESTIONS[part]
    ]


def of_reports(part: slice) -> Answered:
    asked = list(reports.PLAIN)[part]
    return [(each.text, [*map(str, reports.found(each))], [*map(str, reports.answers(each)[0])]) for each in asked]


#: Each is below what was measured.
FLOORS: dict[Callable[[slice], Answered], Floor] = {
    of_conversations: Floor(0.96, 0.98),  # 0.991 and 1.000
    of_files: Floor(0.95, 0.95),  # 0.981 and 0.975
    of_messages: Floor(0.58, 0.88),  # 0.619 and 0.933; by vectors alone 0.378 and 0.667
    of_modules: Floor(0.95, 0.95),  # 1.000 and 1.000
    of_reports: Floor(0.90, 0.95),  # 0.942 and 1.000
}


@ASKED
@pytest.mark.parametrize("of_kind", FLOORS, ids=lambda of_kind: of_kind.__name__.removeprefix("of_"))
def test_the_judged_questions_are_answered(of_kind: Callable[[slice], Answered], part: slice) -> None:
    reach(FLOORS[of_kind], of_kind(part))
