"""WhatsApp: a chat exported as text. The form of its dates depends on the language and region of the phone."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from querymill_histories.compressed import plain_name
from querymill_histories.files import each, text_lines
from querymill_histories.rules.authors import AUTHOR, are_said, authors_of
from querymill_histories.rules.day_order import WrittenDate, order_of
from querymill_histories.rules.phone_dates import MARKS, START, is_unbracketed, stamp_of
from querymill_histories.rules.remarks import ATTACHMENTS, SYSTEM_LINES, WITHOUT_TEXT
from querymill_histories.session import Head, HistoryFormat, HistoryMessage, Read, ReadOptions, Session, UnreadPlace

#: A poll, in the words of the phone's language: a question, and below it options with their votes.
_POLL: Final = re.compile(rf"[{MARKS}]*[^\W\d_]{{3,20}} ?:\n(?:.*\n)+?(?=[{MARKS}]*[^\W\d_]{{3,20}} ?: )", re.UNICODE)
#: What WhatsApp says at the top of a chat, where it may look as if the group said it.
_ENCRYPTED: Final = re.compile(
    r"end-to-end|ende-zu-ende|extremo a extremo|ponta a ponta|bout en bout|eind-tot-eind|сквозн|端[对對到]端"
    r"|エンドツーエンド",
    re.I,
)
#: A file that was sent stands in a line of its own, above what was said of it.
_ATTACHED: Final = re.compile(
    r"(?:(?:IMG|VID|PTT|AUD|STK|DOC)-\d{8}-WA\d+\.\w{2,5} \([^()\n]{3,40}\)"
    r"|[^\n/:<>]{1,150}\.\w{2,5} \((?:file attached|datei angehängt|archivo adjunto|arquivo anexado|ficheiro anexado"
    r"|fichier joint|file allegato|bestand bijgevoegd|файл прикреплен|файл добавлен|dosya ekli|załączono plik"
    r"|bifogad fil|文件附件|檔案已附加|添付ファイル|파일 첨부됨)\)"
    rf"|(?:[^\n<>]{{1,150}} )?[{MARKS}]*<[^<>\n:]{{3,20}}: ?[^<>\n]{{3,150}}\.\w{{2,5}}>)(?:\n|$)",
    re.I,
)
#: Says that a message was edited.
_EDITED: Final = re.compile(r"\s*\u200e<[^<>\n]{3,60}>$")
#: Stands for what is not in the text.
_LEFT_OUT: Final = re.compile(
    r"<[^<>\n]{3,60}>$|(?:image|video|audio|sticker|GIF|document|Contact card) omitted$|null$"
    r"|(?:This message was deleted|You deleted this message|Diese Nachricht wurde gelöscht"
    r"|Du hast diese Nachricht gelöscht"
    r"|Se eliminó este mensaje|Este mensaje fue eliminado|Eliminaste este mensaje|Mensagem apagada"
    r"|Esta mensagem foi apagada|Você apagou esta mensagem|Ce message a été supprimé|Vous avez supprimé ce message"
    r"|Questo messaggio è stato eliminato|Hai eliminato questo messaggio|Dit bericht is verwijderd"
    r"|Данное сообщение удалено|Вы удалили данное сообщение|Bu mesaj silindi|此消息已删除|此訊息已刪除"
    r"|このメッセージは削除されました|삭제된 메시지입니다)[.。]?$"
)
#: Lines by which a chat is told from a log.
_LOOKED_AT: Final = 100
_NAME: Final = re.compile(
    r"^(?:WhatsApp[ -]Chat|Chat de WhatsApp|Conversa do WhatsApp|Discussion WhatsApp|Chat WhatsApp)"
    r"(?: (?:with|mit|con|com|avec|met|-))? (?P<name>.+?)(?: \(\d+\))?$"
)


def recognise(head: Head) -> bool:
    """Return whether a text begins with messages of WhatsApp."""
    lines = [line for line in head.text.splitlines()[:_LOOKED_AT] if line.strip()]
    stamped = [START.match(line) for line in lines]
    if not stamped or stamped[0] is None or "\x00" in head.text:
        return False
    if is_unbracketed(stamped[0]) and name_of(head.path) is None:
        return False  # that is a room of Matrix
    return are_said([match["rest"].lstrip(MARKS) for match in stamped if match is not None])


@dataclass(slots=True)
class _Line:
    """A message as it stands in the file: the numbers of its date are not told apart yet."""

    number: int
    stamp: WrittenDate
    text: str


def _read(path: Path, asked: ReadOptions) -> Read:
    left_out: Counter[str] = Counter()
    lines = list(_lines(path, left_out))
    order = order_of([line.stamp for line in lines])
    entries: list[HistoryMessage] = []
    authors = authors_of([line.text.lstrip(MARKS) for line in lines])
    for place, line in enumerate(lines):
        at = line.stamp.moment(order)
        if at is None:
            yield UnreadPlace(f"{path}:{line.number}", "a date that the others of the file rule out")
            continue
        said = _said(line, at.replace(tzinfo=asked.zone), authors, left_out, is_at_top=place < 3)
        if said is not None:
            entries.append(said)
    name = name_of(path)
    known_by = name or f"{path.stem} {lines[0].text if lines else None}"
    id_ = f"whatsapp-{hashlib.sha256(known_by.encode()).hexdigest()[:16]}"
    about = {"dates": order.described, "time_zone": str(asked.zone)}
    started = min((said.at for said in entries if said.at), default=None)
    yield Session(id_, path, list(entries), name, started, about, left_out=+left_out)


def name_of(path: Path) -> str | None:
    """Return the name of a chat: it is in the name of the file, on an iPhone in that of the folder."""
    stem = plain_name(path).stem
    stem = path.parent.name if stem == "_chat" else stem
    match = _NAME.match(stem)
    return match["name"] if match else None


def _lines(path: Path, left_out: Counter[str]) -> Iterator[_Line]:
    """Yield messages; a line without a date continues the one before."""
    held: _Line | None = None
    for number, line in text_lines(path, left_out):
        match = START.match(line)
        if match is None:
            if held is not None:
                held.text += f"\n{line}"
            else:
                left_out[SYSTEM_LINES] += bool(line.strip())
            continue
        if held is not None:
            yield held
        held = _Line(number, stamp_of(match), match["rest"])
    if held is not None:
        yield held


def _said(
    line: _Line, at: datetime, authors: frozenset[str], left_out: Counter[str], *, is_at_top: bool
) -> HistoryMessage | None:
    """Return a message, None for what is none; that is counted."""
    match = AUTHOR.match(line.text.lstrip(MARKS))
    text = (match["text"] or "") if match else ""
    if match is None or match["author"] not in authors or (is_at_top and _ENCRYPTED.search(text)):
        left_out[SYSTEM_LINES] += 1
        return None
    attached = _ATTACHED.match(text.lstrip(MARKS))
    if attached is not None:
        text = text.lstrip(MARKS)[attached.end() :]
        left_out[ATTACHMENTS] += 1
    is_of_whatsapp = text.startswith("\u200e") and not _POLL.match(text)
    text = _EDITED.sub("", text)
    text = text.translate(dict.fromkeys(map(ord, MARKS))).strip()
    if is_of_whatsapp or not text or _LEFT_OUT.match(text):
        left_out[WITHOUT_TEXT] += attached is None
        return None
    author = match["author"].translate(dict.fromkeys(map(ord, MARKS))).lstrip("~\u202f\u00a0 ").strip()
    return HistoryMessage(author or "unknown", text, None, at, line.number)


FORMAT: Final = HistoryFormat("whatsapp", recognise, each(_read))
