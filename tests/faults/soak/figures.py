"""What a fleet holds at a moment: memory, keys, connections, open files, disk."""

from dataclasses import dataclass, field
from typing import Any, Final

import psutil
import psycopg
import redis

from tests.faults.table.stage import Stage

MB: Final = 1_000_000
_OF_POSTGRES: Final = """
SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
       pg_database_size(current_database()) AS disk,
       pg_total_relation_size('document_versions') + pg_total_relation_size('tombstones') AS tombstones
"""
#: A part of the disk, which grows for eight days, by a few hundred bytes for each document that is dropped.
TOMBSTONES: Final = "of these, tombstones, MB"


@dataclass
class Watch:
    """Samples of all figures while a fleet works. ``missed`` counts those that a fault kept from being taken.

    The processes are ones that no fault hits: what is killed begins anew.
    """

    stage: Stage
    worker: psutil.Process
    gateway: psutil.Process
    seconds: list[float] = field(default_factory=list)
    figures: dict[str, list[float]] = field(default_factory=dict)
    missed: int = 0

    def look(self, at: float, board: redis.Redis) -> None:
        """Take a sample of all figures, or of none."""
        try:
            taken = {**self._of_processes(), **self._of_board(board), **self._of_postgres()}
        except (redis.RedisError, psycopg.OperationalError):
            self.missed += 1
            return
        self.seconds.append(at)
        for name, value in taken.items():
            self.figures.setdefault(name, []).append(value)

    def _of_processes(self) -> dict[str, float]:
        taken = {}
        for name, process in (("worker", self.worker), ("gateway", self.gateway)):
            family = [process, *process.children(recursive=True)]
            taken[f"memory of the {name}, MB"] = sum(each.memory_info().rss for each in family) / MB
            taken[f"open files of the {name}"] = sum(each.num_fds() for each in family)
            taken[f"threads of the {name}"] = sum(each.num_threads() for each in family)
        return taken

    def _of_board(self, board: redis.Redis) -> dict[str, float]:
        told: Any = board.info()
        keys: Any = board.dbsize()
        return {
            "memory of the board, MB": told["used_memory"] / MB,
            "keys of the board": float(keys),
            "connections of the board": float(told["connected_clients"]),
            "disk of the board, MB": told["aof_current_size"] / MB,
        }

    def _of_postgres(self) -> dict[str, float]:
        with self.stage.database() as database:
            row = database.execute(_OF_POSTGRES).fetchone()
        assert row is not None
        connections, disk, tombstones = row
        return {
            "connections of PostgreSQL": float(connections),
            "disk of PostgreSQL, MB": float(disk) / MB,
            TOMBSTONES: float(tombstones) / MB,
        }
