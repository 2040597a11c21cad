"""Chats of Signal as programs export them, and other logs that look like a chat of WhatsApp."""

import json
from pathlib import Path

import pytest

from querymill_histories.files import head_of
from querymill_histories.finding import format_of
from tests.fixtures.histories import one, said

END, BLANK = "  ", " "
#: What signal-export writes: two blanks end a text, and each message is followed by an empty line.
MARKDOWN = f"""[2026-01-05 10:00:00] Me: Is the pump back?{END}

[2026-01-05 10:01:30] Dr. Bob:{BLANK}

> Is the pump back?

Yes, since noon.
It hums.{END}
(- Me: 👍 -)

[2026-01-05 10:02:00] Me: (This message was deleted)

[2026-01-05 10:03:00] Me:   ![pump.jpg](./media/pump.jpg){END}

"""
#: What signalbackup-tools writes.
TEXT = """[Jan 05, 2026 10:00:00] *** You started this chat
[Jan 05, 2026 10:00:00] <Ann> Is the pump back?
[Jan 05, 2026 10:01:30] <Dr. Bob> Yes, since noon.
It hums. (Ann: 👍)
[Jan 05, 2026 10:03:00] *** <Ann> sent file "pump.jpg"
"""


def test_markdown_of_signal_export_is_read(tmp_path: Path) -> None:
    path = tmp_path / "Pumps" / "chat.md"
    path.parent.mkdir()
    path.write_text(MARKDOWN, encoding="utf-8")
    row = one(path)
    assert (row["origin"], row["name"]) == ("signal", "Pumps")
    assert said(row) == [("Me", "Is the pump back?"), ("Dr. Bob", "Yes, since noon.\nIt hums.")]
    assert [f"{message['created_at']}"[:19] for message in row["messages"]] == [
        "2026-01-05 10:00:00", "2026-01-05 10:01:30",
    ]  # fmt: skip
    assert [message["line"] for message in row["messages"]] == [1, 3]


def test_lines_of_signal_export_are_read(tmp_path: Path) -> None:
    head = {"quote": "", "sticker": None, "reactions": [["Me", "👍"]], "attachments": []}
    path = tmp_path / "Pumps" / "data.json"
    path.parent.mkdir()
    rows = [
        {"date": "2026-01-05T10:00:00", "sender": "Me", "body": "Is the pump back?  ", **head},
        {"date": "2026-01-05T10:01:00", "sender": "Bob", "body": "  ", **head},
        {"date": "2026-01-05T10:02:00", "sender": "Bob", "body": "Missed voice call  ", **head, "call": True},
        {"date": "2026-01-05T10:03:00", "sender": "Bob", "body": "Yes.  ", **head, "deleted": False},
    ]
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
    row = one(path)
    assert (row["origin"], row["name"]) == ("signal", "Pumps")
    assert said(row) == [("Me", "Is the pump back?"), ("Bob", "Yes.")]
    assert [message["line"] for message in row["messages"]] == [1, 4]


def test_text_of_signalbackup_tools_is_read(tmp_path: Path) -> None:
    path = tmp_path / "Pumps (_id12).txt"
    path.write_text(TEXT, encoding="utf-8")
    row = one(path)
    assert (row["origin"], row["name"]) == ("signal", "Pumps")
    assert said(row) == [("Ann", "Is the pump back?"), ("Dr. Bob", "Yes, since noon.\nIt hums.")]


def test_a_chat_of_a_swedish_iphone_is_still_one_of_whatsapp(tmp_path: Path) -> None:
    path = tmp_path / "_chat.txt"
    path.write_text("[2020-12-09 23:55:12] Ann: hi\n[2020-12-13 00:05:00] Bob: ho\n", encoding="utf-8")
    assert one(path)["origin"] == "whatsapp"


#: Logs whose lines begin with a date, as a chat of WhatsApp does.
OTHERS = {
    "an IRC log": "[2026-01-05 10:00:00] <ann> hi: there\n[2026-01-05 10:01:00] <bob> ho\n",
    "an IRC log with joins": "[2026-01-05 10:00:00] *** ann joined\n[2026-01-05 10:01:00] <bob> ho: hum\n",
    "an IRC log that is dated": "2026-01-05 10:00 - <ann> hi: there\n2026-01-05 10:01 - <bob> ho\n",
    "a log with levels": "2026-01-05 10:00:00 - INFO: started\n2026-01-05 10:00:01 - ERROR: no port: 8080\n",
    "a log with levels between rules": "2026-01-05 10:00:00 - INFO - up: 8080\n2026-01-05 10:00:01 - DEBUG - x: 1\n",
    "a log with names": "2026-01-05 10:00:00 - app.main - INFO - up: 1\n2026-01-05 10:00:01 - app.main - DEBUG - x\n",
    "a log in brackets": "[2026-01-05 10:00:00] ERROR: no such file\n[2026-01-05 10:00:01] INFO: done\n",
    "a log of a framework": "[2026-01-05 10:00:00] local.ERROR: no such table\n[2026-01-05 10:00:01] local.INFO: x\n",
    "a diary": "2026-01-05 10:00 - went to the pump house\n2026-01-06 10:00 - came back\n",
}


@pytest.mark.parametrize("kind", OTHERS)
def test_logs_that_are_no_chats_are_not_recognised(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(OTHERS[kind], encoding="utf-8")
    assert format_of(head_of(path)) is None
