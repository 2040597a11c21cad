"""What runs found is kept one line each, and read as it was."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from pydantic import ValidationError

from tests.fixtures.ledgers import add_to_ledger, read_ledger


@dataclass
class Counted:
    lost: int = 0
    recovery_s: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Run:
    servers: Literal["valkey", "rabbitmq"]
    counts: Counted
    failed: tuple[int, ...] = ()
    slopes: dict[str, Counted] = field(default_factory=dict)


FIRST = Run("valkey", Counted(lost=1, recovery_s=[0.5, float("inf")]), failed=(3, 7))
SECOND = Run("rabbitmq", Counted(), slopes={"keys": Counted(2)})


def test_runs_are_kept_one_a_line_and_read_as_they_were(tmp_path: Path) -> None:
    kept = tmp_path / "runs.jsonl"
    assert read_ledger(kept, Run) == []
    add_to_ledger(kept, [FIRST])
    add_to_ledger(kept, [SECOND])
    assert read_ledger(kept, Run) == [FIRST, SECOND]
    assert len(kept.read_text().splitlines()) == 2


def test_a_line_that_is_not_of_the_kind_is_refused(tmp_path: Path) -> None:
    kept = tmp_path / "runs.jsonl"
    kept.write_text('{"servers": "mysql", "counts": {}}\n')
    with pytest.raises(ValidationError, match="servers"):
        read_ledger(kept, Run)
