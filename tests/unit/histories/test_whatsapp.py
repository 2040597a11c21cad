"""Chats of WhatsApp as phones of many regions write them. The form depends on the language and region of the phone."""

from pathlib import Path

import pytest

from tests.fixtures.histories import one, said

NARROW, LEFT, RIGHT = "\u202f", "\u200e", "\u200f"

#: Two messages, the first always on 9 December 2020 at 23:55, the second after midnight on the 13th.
REGIONS = {
    "United States": (f"12/9/20, 11:55{NARROW}PM - ", f"12/13/20, 12:05{NARROW}AM - "),
    "United States, iPhone": (f"{LEFT}[12/9/20, 11:55:12{NARROW}PM] ", f"[12/13/20, 12:05:00{NARROW}AM] "),
    "Canada": ("2020-12-09, 11:55 p.m. - ", "2020-12-13, 12:05 a.m. - "),
    "Canada, French": ("2020-12-09 23 h 55 - ", "2020-12-13 00 h 05 - "),
    "South Africa": ("2020/12/09, 11:55 pm - ", "2020/12/13, 12:05 am - "),
    "Mexico": (f"9/12/20, 11:55 p.{NARROW}m. - ", f"13/12/20, 12:05 a.{NARROW}m. - "),
    "Colombia, iPhone": ("[9/12/20, 11:55:12 p.\u00a0m.] ", "[13/12/20, 12:05:00 a.\u00a0m.] "),
    "Brazil": ("09/12/2020 23:55 - ", "13/12/2020 00:05 - "),
    "France, old": ("09/12/2020 à 23:55 - ", "13/12/2020 à 00:05 - "),
    "Netherlands": ("09-12-20 23:55 - ", "13-12-20 00:05 - "),
    "Denmark": ("09.12.2020 23.55 - ", "13.12.2020 00.05 - "),
    "Finland, iPhone": ("[9.12.2020 klo 23.55.12] ", "[13.12.2020 klo 0.05.00] "),
    "Germany, old": ("09.12.2020 um 23:55 Uhr - ", "13.12.2020 um 00:05 Uhr - "),
    "Slovakia": ("9. 12. 2020 o 23:55 - ", "13. 12. 2020 o 0:05 - "),
    "Hungary": ("2020. 12. 09. 23:55 - ", "2020. 12. 13. 0:05 - "),
    "Croatia": ("09.12.2020. 23:55 - ", "13.12.2020. 00:05 - "),
    "Bulgaria": ("9.12.20 г., 23:55 ч. - ", "13.12.20 г., 0:05 ч. - "),
    "Greece": ("9/12/20, 11:55 μ.μ. - ", "13/12/20, 12:05 π.μ. - "),
    "Korea": ("2020. 12. 9. 오후 11:55 - ", "2020. 12. 13. 오전 12:05 - "),
    "Korea, written out": ("2020년 12월 9일 오후 11:55 - ", "2020년 12월 13일 오전 12:05 - "),
    "Japan": ("2020/12/09 23:55 - ", "2020/12/13 0:05 - "),
    "China": ("2020/12/9 下午11:55 - ", "2020/12/13 上午12:05 - "),
    "Taiwan": ("2020/12/9 晚上11:55 - ", "2020/12/13 凌晨12:05 - "),
    "China, iPhone, written out": ("[2020年12月9日 下午11:55:12] ", "[2020年12月13日 上午12:05:00] "),
    "Egypt": (f"٩{RIGHT}/١٢{RIGHT}/٢٠٢٠، ١١:٥٥{NARROW}م - ", f"١٣{RIGHT}/١٢{RIGHT}/٢٠٢٠، ١٢:٠٥{NARROW}ص - "),
    "Iran": (f"۲۰۲۰/۱۲/۹،{RIGHT} ۲۳:۵۵ - ", f"۲۰۲۰/۱۲/۱۳،{RIGHT} ۰:۰۵ - "),
    "Vietnam": ("9/12/20, 11:55 CH - ", "13/12/20, 12:05 SA - "),
    "Malaysia": ("09/12/2020, 11:55 PTG - ", "13/12/2020, 12:05 PG - "),
    "Indonesia": ("09/12/20 23.55 - ", "13/12/20 00.05 - "),
    "Thailand": ("9/12/2563 23:55 - ", "13/12/2563 00:05 - "),
}  # fmt: skip


@pytest.mark.parametrize("region", REGIONS)
def test_dates_of_every_region_are_read(tmp_path: Path, region: str) -> None:
    first, second = REGIONS[region]
    path = tmp_path / "WhatsApp Chat with Friends.txt"
    path.write_text(f"{first}Ann: hi\n{second}Bob: ho: hum\ngoes on\n", encoding="utf-8")
    row = one(path)
    assert said(row) == [("Ann", "hi"), ("Bob", "ho: hum\ngoes on")]
    times = [f"{message['created_at']}"[:16] for message in row["messages"]]
    assert times == ["2020-12-09 23:55", "2020-12-13 00:05"]


@pytest.mark.parametrize(("written", "hour"), [("中午12:30", 12), ("中午1:30", 13), ("早上8:30", 8), ("上午12:30", 0)])
def test_hours_of_parts_of_a_chinese_day(tmp_path: Path, written: str, hour: int) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(f"2020/12/9 {written} - Ann: hi\n", encoding="utf-8")
    assert f"{one(path)['messages'][0]['created_at']}"[11:16] == f"{hour:02}:30"


#: A line, and what a person would call its message; "" for none.
LINES = [
    ("Ann: IMG-20201209-WA0001.jpg (file attached)", ""),
    ("Ann: IMG-20201209-WA0001.jpg (Datei angehängt)\nlook at this", "look at this"),
    (f"Ann: {LEFT}PTT-20201209-WA0002.opus (archivo adjunto)", ""),
    ("Ann: report (final).pdf (arquivo anexado)", ""),
    ("Ann: minutes.docx • 3 pages <attached: 0003-minutes.docx>", ""),
    ("Ann: see notes.txt (it is short)", "see notes.txt (it is short)"),
    (f"Ann: see you at nine {LEFT}<This message was edited>", "see you at nine"),
    (f"Ann: bis neun {LEFT}<Diese Nachricht wurde bearbeitet.>", "bis neun"),
    ("Ann: Diese Nachricht wurde gelöscht.", ""),
    ("Ann: Se eliminó este mensaje.", ""),
    ("Ann: Mensagem apagada", ""),
    ("Ann: Ce message a été supprimé", ""),
    ("Ann: <Medien ausgeschlossen>", ""),
    ("Ann: <Multimedia omitido>", ""),
    (f"Ann: {LEFT}Bild weggelassen", ""),
    (f"Ann: {LEFT}<adjunto: 00000012-PHOTO-2020-12-09.jpg>", ""),
    (f"{LEFT}Ann added Bob", ""),
    ("Ann hat die Gruppe „Ferien“ erstellt", ""),
    (f"~{NARROW}Ann: a <b> c", "a <b> c"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "text"), LINES)
def test_what_is_no_message_is_left_out_and_captions_stay(tmp_path: Path, line: str, text: str) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(f"09.12.2020, 23:54 - Bob: first\n09.12.2020, 23:55 - {line}\n", encoding="utf-8")
    assert said(one(path))[1:] == ([("Ann", text)] if text else [])
