"""Nights go through all lines on all servers."""

from tests.faults.table import controls, provider, servers, workers, zombies  # noqa: F401  # they register their lines
from tests.faults.table.lines import ALL, LINES, Line
from tests.faults.table.nights import LINES_A_NIGHT, lines_of_night


def test_thirty_lines_on_three_servers_take_nine_nights() -> None:
    lines = {str(number): Line(str(number), "", lambda stage: None) for number in range(30)}
    first = [(on, due[0].name) for on, due in (lines_of_night(day, lines) for day in range(10))]
    assert first[:4] == [("valkey", "0"), ("rabbitmq", "0"), ("cluster", "0"), ("valkey", "10")]
    assert first[9] == first[0]


def test_every_line_is_run_on_each_of_its_servers_within_a_month() -> None:
    nights = [lines_of_night(day, LINES) for day in range(20_000, 20_030)]
    run = {(line.name, on) for on, due in nights for line in due[:LINES_A_NIGHT]}
    assert run == {(line.name, on) for line in LINES.values() for on in ALL if on in line.on}
