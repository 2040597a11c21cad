"""How phones of different languages and regions write the time before a message."""

import re
from typing import Final

from querymill_histories.rules.day_order import WrittenDate

#: Marks of the direction of a text, which stand anywhere and are not seen.
MARKS: Final = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\ufeff"
#: The halves of a day: as Latin letters, in Greek, Chinese, Japanese, Korean, Arabic, Persian, Hebrew, Vietnamese,
#: Malay, Turkish, Hindi and Nepali, Marathi, Tamil, Kannada, Punjabi, Thai, Lao, Amharic, Hungarian, Bulgarian,
#: Finnish and Swedish.
FIRST_HALF: Final = (
    r"[Aa]\.?\s?[Mm]\.?|π\.?\s?μ\.?|上午|凌晨|清晨|早上|早晨|午前|오전|ص|ق\.ظ\.?|לפנה[״\"]צ|SA|PG|ÖÖ|पूर्वाह्न|म\.पू\."
    r"|முற்பகல்|ಪೂರ್ವಾಹ್ನ|ਪੂ\.ਦੁ\.|ก่อนเที่ยง|ກ່ອນທ່ຽງ|ጥዋት|de\.|пр\.об\.|ap\.|fm"
)
SECOND_HALF: Final = (
    r"[Pp]\.?\s?[Mm]\.?|μ\.?\s?μ\.?|下午|中午|晚上|傍晚|午後|오후|م|ب\.ظ\.?|אחה[״\"]צ|CH|PTG|ÖS|अपराह्न|म\.उ\."
    r"|பிற்பகல்|ಅಪರಾಹ್ನ|ਬਾ\.ਦੁ\.|หลังเที่ยง|ຫຼັງທ່ຽງ|ከሰዓት|du\.|сл\.об\.|ip\.|em"
)
_NOON: Final = "中午"
_M: Final = f"[{MARKS}]*"
#: ``12/9/20, 23:55 - ``, ``[09.12.20, 23:55:12] ``, ``9/12/20, 11:55 p. m. - ``, ``2020年12月9日 下午11:55 - ``,
#: ``9.12.2020 klo 23.55 - ``, ``9.12.20 г., 23:55 ч. - ``, ``2020-12-09 23 h 55 - ``; digits of any script.
START: Final = re.compile(
    rf"{_M}\[?{_M}(?P<a>\d{{1,4}}){_M}(?P<sep>[./-]|[년年]){_M}\s?(?P<b>\d{{1,2}}){_M}(?:[./-]|[월月]){_M}\s?"
    rf"(?P<c>\d{{1,4}}){_M}[일日]?\.?(?:\s?г\.?)?(?P<comma>[,،]?){_M}\s+(?:(?:at|um|kl\.|klo|à|às|o)\s+)?"
    rf"(?P<before>{FIRST_HALF}|{SECOND_HALF})?\s*(?P<hour>\d{{1,2}})(?:[:.]|\s?h\s?)(?P<minute>\d\d)(?:[:.](?P<second>\d\d))?"
    rf"\s*(?:Uhr|ч\.)?\s*(?P<after>{FIRST_HALF}|{SECOND_HALF})?{_M}\s*(?:\]|[-–])\s(?P<rest>.*)",
    re.DOTALL,
)


def is_unbracketed(match: re.Match[str]) -> bool:
    """Return whether a match of `START` has seconds and no brackets, as WhatsApp never writes it and Element does."""
    return (
        match["second"] is not None and match[0].lstrip(MARKS)[0] != "[" and "]" not in match[0][: match.start("rest")]
    )


def stamp_of(match: re.Match[str]) -> WrittenDate:
    """Return the numbers of a match of `START`; which of them is the day is not known yet."""
    half = match["before"] or match["after"] or ""
    hour = int(match["hour"])
    if half and not (half == _NOON and hour == 11):
        hour = hour % 12 + (12 if re.fullmatch(SECOND_HALF, half) else 0)
    parts = (match["a"], match["b"], match["c"])
    return WrittenDate(
        parts, (hour, int(match["minute"]), int(match["second"] or 0)), match["sep"], bool(match["comma"])
    )
