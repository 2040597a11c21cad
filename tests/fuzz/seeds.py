"""Good inputs to begin with, made by the fixtures of the suite."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from querymill_histories.session import HistoryFormat
from querymill_reading.formats import DocumentFormat
from tests.fixtures import bombs, foreign_histories, outlook
from tests.fixtures import documents as made

_GOLDEN: Final = Path(__file__).parents[1] / "fixtures" / "golden" / "now"
_MEMBER: Final = b"\n\xff=\xff"
_SLIDE: Final = (
    '<draw:page draw:name="p"><draw:frame><draw:text-box><text:p>noon</text:p></draw:text-box></draw:frame></draw:page>'
)
_TABLE: Final = (
    '<table:table table:name="a"><table:table-row><table:table-cell table:number-columns-spanned="2"><text:p>Tinn'
    '</text:p></table:table-cell><table:table-cell table:number-columns-repeated="3"><text:p>12.5</text:p>'
    "</table:table-cell></table:table-row></table:table>"
)


def _written(write: Callable[[Path], None]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a")
        write(path)
        return path.read_bytes()


#: By the name of the format.
DOCUMENTS: Final[Mapping[str, Callable[[], Sequence[bytes]]]] = {
    "pdf": lambda: [
        made.pdf(made.lines("one", "two"), rules=[(72, 300, 715)], pictures={1: [(72, 72, 144, 144)]}), made.form_pdf(),
    ],
    "html": lambda: [
        b"<html><head><title>Tides</title></head><body><h1>Tides</h1><table><tr><th colspan=2>a<td rowspan=2>b<tr>"
        b"<td>1<td>2</table><ul><li>one<ol><li>two</ol></ul><p>noon&amp;<math><mi>x</mi></math></body></html>",
    ],
    "docx": lambda: [_written(made.write_docx)],
    "pptx": lambda: [_written(made.write_pptx)],
    "xlsx": lambda: [_written(made.write_xlsx)],
    "odt": lambda: [bombs.open_document("text", f"<text:h>Tides</text:h><text:p>noon</text:p>{_TABLE}")],
    "ods": lambda: [bombs.open_document("spreadsheet", _TABLE)],
    "odp": lambda: [bombs.open_document("presentation", _SLIDE)],
    "rtf": lambda: [rb"{\rtf1\ansi{\info{\title Tides}}\pard noon\par\trowd\cellx100 a\cell b\cell\row \u228?\'e4}"],
    "csv": lambda: [b'place,price\n"Tinn, north",12.5\nMoss,7\n', b"a;b\tc\n1;2\t3\n"],
    "eml": lambda: [
        b"From: Ada <ada@a.example>\nTo: bo@a.example\nDate: Mon, 6 May 2024 09:00:00 +0000\n"
        b'Subject: =?utf-8?q?W=C3=A4rme?=\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary="b"\n\n'
        b"--b\nContent-Type: text/plain\n\nnoon\n"
        b"--b\nContent-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n<p>noon=\n</p>\n--b--\n",
    ],
    "msg": lambda: [outlook.msg({0x37: "Tides", 0x1000: "noon", 0x1A: "IPM.Note", 0xC1F: "ada@a.example"})],
    "epub": lambda: [made.epub()],
    "json": lambda: [b'{"title": "Tides", "rows": [{"at": "noon", "height": 1.5}, {"at": "six", "height": -2e3}]}'],
    "markdown": lambda: [
        b"---\ntitle: Tides\nyear: 2022\n---\n# Tides\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n  1. two\n\n"
        b"> noon\n",
    ],
    "text": lambda: ["Nordhav Annual Report 2022\n\fThe tide turns at noon. 港口".encode(), "Grüße".encode("cp1252")],
}  # fmt: skip


@cache
def documents(known: DocumentFormat) -> Sequence[bytes]:
    """Return documents of a format.

    Raises:
        KeyError: The format has none here.
    """
    return tuple(DOCUMENTS[known.name]())


def opened(archive: bytes) -> bytes:
    """Write the members of a ZIP archive one after the other, each behind its name."""
    with zipfile.ZipFile(io.BytesIO(archive)) as read:
        return _MEMBER.join(name.encode() + b"\n" + read.read(name) for name in read.namelist())


def packed(members: bytes) -> bytes:
    """Write what `opened` gave as a ZIP archive, which is not compressed."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for each in members.split(_MEMBER):
            name, _, content = each.partition(b"\n")
            archive.writestr(zipfile.ZipInfo(name.decode("latin-1")[:200] or "a"), content)
    return written.getvalue()


def archives(suffix: str) -> Sequence[bytes]:
    """Return archives with an ending."""
    if suffix == ".zip":
        return [made.zipped({"in/a.txt": "noon", "../b.txt": "out", "ä.txt": "x" * 100})]
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for name, kind in (
            ("in/a.txt", tarfile.REGTYPE),
            ("in/link", tarfile.SYMTYPE),
            ("/etc/b.txt", tarfile.REGTYPE),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.size, member.linkname = kind, 4 if kind == tarfile.REGTYPE else 0, "../../out"
            archive.addfile(member, io.BytesIO(b"noon"))
    packs: Mapping[str, Callable[[bytes], bytes]] = {
        "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "tgz": gzip.compress, "tbz2": bz2.compress,
        "txz": lzma.compress,
    }  # fmt: skip
    return [packs.get(suffix.rpartition(".")[2], bytes)(written.getvalue())]


def histories(known: HistoryFormat) -> Mapping[str, bytes]:
    """Return histories of a format by the names of their files; of one without a fixture, something near to all."""
    found = {name: text.encode() for (kind, name), text in foreign_histories.TEXTS.items() if kind == known.name}
    for (kind, name), rows in foreign_histories.LINES.items():
        if kind == known.name:
            found[name] = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    found |= {
        name: json.dumps(whole).encode()
        for (kind, name), whole in foreign_histories.WHOLE.items()
        if kind == known.name
    }
    return found or {"export.json": json.dumps(_ANY_CHAT).encode()}


_ANY_CHAT: Final = {
    "id": "1", "title": "Winch", "name": "Winch", "type": "personal", "create_time": 1715590800.0,
    "mapping": {"a": {"id": "a", "message": {"author": {"role": "user"}, "content": {"parts": ["The winch?"]}}}},
    "chat_messages": [{"uuid": "1", "sender": "human", "text": "The winch?", "created_at": "2024-05-13T09:00:00Z"}],
    "messages": [{"id": 1, "sender": "Ada", "sender_name": "Ada", "role": "user", "content": "The winch?",
                  "text": "The winch?", "ts": "1715590800.0", "timestamp_ms": 1715590800000, "type": "message",
                  "user": "U1"}],
}  # fmt: skip


@cache
def _golden(name: str) -> Mapping[str, Any]:
    read: Mapping[str, Any] = json.loads((_GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    return read


def _values(name: str) -> Sequence[bytes]:
    return [json.dumps(value).encode() for value in list(_golden(name).values())[:40]]


def requests() -> Sequence[bytes]:
    """Return requests of every kind, as JSON."""
    return _values("requests")


def results() -> Sequence[bytes]:
    """Return results of every kind, as JSON."""
    return _values("results")


def events() -> Sequence[bytes]:
    """Return events of every type, as JSON."""
    return _values("events")


def bells() -> Sequence[bytes]:
    """Return bells as elements of a list."""
    return _values("bells")


def records() -> Sequence[bytes]:
    """Return the keys of jobs as `doors` reads them."""
    held = {name: value for name, value in _golden("board").items() if value}
    found = []
    for name in [name for name in held if name.endswith(":job") and "hash" in held[name]]:
        job = name.removesuffix("job")
        hashes = [held.get(f"{job}{part}", {}).get("hash", {}) for part in ("job", "steps", "hits", "queries")]
        flat = ["\x1e".join(text for pair in each.items() for text in pair) for each in hashes]
        request = held.get(f"{job}request", {}).get("string", "")
        found.append("\x1d".join([*flat, request]).replace("<ms>", "1715590800000").encode())
    return found[:20]


def trails() -> Sequence[bytes]:
    """Return what jobs leave behind."""
    fields = [
        "kind",
        "reports",
        "collection",
        "acme",
        "lane",
        "interactive",
        "created",
        "1715590800000",
        "state",
        "done",
    ]
    steps = [["original", "done", "1", "", "1715590800000", "1715590801000"]]
    own = json.dumps([fields, steps])
    return [own.encode(), f"{own}\x1d{own}".encode()]


def lines(kind: str) -> Sequence[bytes]:
    """Return documents of a kind, as JSON lines."""
    messages = [{"message_id": "m1", "role": "user", "text": "The winch?", "created_at": "2024-05-13T09:00:00Z"}]
    session = {
        "session_id": "s1",
        "name": "Winch",
        "user_name": "ada",
        "started_at": "2024-05-13T09:00:00Z",
        "messages": messages,
    }
    whole: Mapping[str, Any] = {
        "messages": session, "conversations": session,
        "reports": {"sha1": "r1", "title": "Tides", "company": "Nordhav", "aliases": ["N"], "period": "2022 Q3",
                    "published_at": "2022-05-20", "pages": [{"page": 1, "text": "noon"}], "year": 2022},
        "modules": {"faiss_id": 1, "file_path": "a.js", "code": "x()",
                    "meta_info": {"vtkjs_modules": ["a/b"], "description": "d"}},
        "files": {"path": "src/a.py", "content": "def a():\n    return 1\n"},
    }  # fmt: skip
    return [json.dumps(whole[kind]).encode()]


def filters() -> Sequence[bytes]:
    """Return filters as they are written, one condition a line."""
    return [
        b'year=2023\ntitle=Tides*\nyear>=2020\nyear<2024\nkind={"any": ["a", null]}\nat=2022-05-20',
        b'a!=1\nb=[1, "x", true]',
    ]


def conditions() -> Sequence[bytes]:
    """Return conditions as JSON."""
    return [b'{"gte": 1, "lt": 2.5}', b'["a", 1, null, true]', b'{"prefix": "a"}', b'"a"', b'{"within": "30d"}']


def tool_calls() -> Sequence[bytes]:
    """Return the arguments of calls of tools."""
    return [
        b'{"query": "winch", "collection": "port", "limit": "5", "filter": {"year": {"gte": 2020}}}',
        b'{"collection": "port", "kind": "reports", "id": "r1", "page": 1, "documents": [{"title": "a", "text": "b"}]}',
    ]
