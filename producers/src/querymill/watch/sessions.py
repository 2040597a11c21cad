"""Sending sessions as they grow: one that is new or has changed whole, of one that has grown the new messages."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pydantic

from querymill.broken_rules import rule_broken
from querymill.client.mill import Querymill
from querymill.ingesting.jsonl import GoodLine, Lines
from querymill.ingesting.submitting import ingest, pack
from querymill.watch.growth import SessionMark, added_after, mark_of
from querymill.watch.sent import SentLog

Row = Mapping[str, Any]


@dataclass(slots=True)
class WatchReport:
    """What was done, by what, and what was not, with the reasons. ``remarks`` say what of a file was read otherwise."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[str, str]] = field(default_factory=list)
    remarks: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class SessionSender:
    """Sends sessions, and notes each in ``sent`` once its words are stored."""

    mill: Querymill
    lines: Lines[Any]
    collection: str
    sent: SentLog

    def send(self, rows: Iterable[Row], told: WatchReport) -> frozenset[str]:
        """Send what is new of some sessions, and return the ids of those that could not be stored.

        Of several versions of one session, the last is sent.
        """
        marks: dict[str, SessionMark] = {}
        wholes: dict[str, Row] = {}
        grown: dict[str, tuple[Row, int]] = {}
        for row in rows:
            id_ = str(row["session_id"])
            known, now = self.sent.mark(id_), mark_of(row)
            marks[id_] = now
            stored = added_after(known, now)
            wholes.pop(id_, None)
            grown.pop(id_, None)
            if stored == now.count:
                told.counts["unchanged"] += 1
            elif stored and self.lines.growth is not None:
                grown[id_] = row, stored
            else:
                wholes[id_] = row
        short = self._send_grown(grown, marks, told)
        return self._send_wholes({**wholes, **{id_: grown[id_][0] for id_ in short}}, marks, told)

    def _send_grown(
        self, grown: Mapping[str, tuple[Row, int]], marks: Mapping[str, SessionMark], told: WatchReport
    ) -> list[str]:
        """Send the new messages of sessions, and return the ids of those that are to be sent whole."""
        growth = self.lines.growth
        if growth is None or not grown:
            return []
        short: list[str] = []

        def lines() -> Iterator[GoodLine[Any]]:
            for number, (id_, (row, stored)) in enumerate(grown.items(), start=1):
                try:
                    added = growth.extension_of(row, stored)
                except pydantic.ValidationError:
                    short.append(id_)
                    continue
                yield GoodLine(number, _size(row, stored), added, unit="session")

        for outcome in ingest(self.mill, pack(lines(), growth.asking(self.collection)), vectors=False):
            if (id_ := outcome.document) is None:
                continue
            row, stored = grown[id_]
            if outcome.result is None or not growth.is_in(outcome.result, row):
                short.append(id_)
                continue
            told.counts["grown"] += 1
            told.counts["messages"] += len(row["messages"]) - stored
            self.sent.note_sessions({id_: marks[id_]})
        return short

    def _send_wholes(
        self, wholes: Mapping[str, Row], marks: Mapping[str, SessionMark], told: WatchReport
    ) -> frozenset[str]:
        """Send sessions whole, and return the ids of those that could not be stored."""
        lost: set[str] = set()

        def fail(id_: str, reason: str) -> None:
            lost.add(id_)
            told.failures.append((id_, reason))

        for outcome in ingest(
            self.mill, pack(self._whole(wholes, fail), self.lines.asking(self.collection)), vectors=False
        ):
            if (id_ := outcome.document) is None:
                continue
            if outcome.result is None:
                fail(id_, outcome.reason)
                continue
            told.counts[outcome.result.outcome] += 1
            if outcome.result.outcome == "ingested":
                told.counts["messages"] += len(wholes[id_]["messages"])
            self.sent.note_sessions({id_: marks[id_]})
        return frozenset(lost)

    def _whole(self, wholes: Mapping[str, Row], fail: Callable[[str, str], None]) -> Iterator[GoodLine[Any]]:
        for number, (id_, row) in enumerate(wholes.items(), start=1):
            try:
                session = self.lines.document.model_validate(row)
            except pydantic.ValidationError as error:
                fail(id_, rule_broken(error))
                continue
            yield GoodLine(number, _size(row, 0), session, unit="session")


def _size(row: Row, stored: int) -> int:
    return sum(len(message["text"]) for message in row["messages"][stored:])
