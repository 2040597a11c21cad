"""Tell what a mail quotes from what its author wrote, in the forms of mail programs of many languages."""

import re
from typing import Final

#: Verbs of the line before a quotation, ``On Monday, Ann wrote:``.
_VERB: Final = (
    r"wrote|writes|said|schrieb|geschrieben|schreef|écrit|a écrit|escribió|escribi[oó]|escreveu|scrisse|ha scritto"
    r"|skrev|kirjoitti|napisał\(?a?\)?|napsal\(?a?\)?|pisze|написал\(?а?\)?|пишет|писал\(?а?\)?|написав|yazdı|schreibt"
    r"|έγραψε|írta|a scris|写道|寫道|のメール|さんは書きました|のメッセージ|님이 작성|작성|כתב|كتب|viết"
)
#: A line that ends with such a verb, or one with the address of a sender: ``2026-01-03, "Ann" <ann@a.example>:``.
_ATTRIBUTION: Final = re.compile(
    rf"(?:(?:^|.*[\s>*_,\"”』])(?:{_VERB})\b[^\n:：]{{0,80}}|.*\d.*<[^<>\s]+@[^<>\s]+>\s*|.*\d\d:\d\d.*[^\s:：]\s*)[:：]\s*$",
    re.IGNORECASE,
)
#: How such a line begins, where it may go on over several.
_OPENS: Final = re.compile(
    r"\s*(?:(?:On|Am|Le|El|Em|Il|In|Op|Den|Dne|Dnia|W dniu|Al|Pada|Στις|В|Вс|Пн)\b|\d{4}[年.-]|\d{1,2}[./]|\w+,? \d)",
    re.IGNORECASE,
)
#: An attribution that is sure, so that what follows it is quoted even without marks: a date, and an address or a year.
_SURE: Final = re.compile(r".*\b\d{4}\b.*\d.*|.*\d.*<[^<>\s]+@[^<>\s]+>.*", re.DOTALL)
#: A line above a whole message, and a ruled line.
_ORIGINAL: Final = re.compile(
    r"\s*(?:[-‐–—_=]{2,}\s*(?:original (?:message|email)|ursprüngliche nachricht|originalnachricht|message d['’]origine"
    r"|message (?:d['’])?original|mensaje original|mensagem original|messaggio originale|oorspronkelijk bericht"
    r"|opprinnelig melding|ursprungligt meddelande|oprindelig meddelelse|alkuperäinen viesti|oryginalna wiadomość"
    r"|původní zpráva|исходное сообщение|пересылаемое сообщение|原始邮件|原始郵件|原邮件|元のメッセージ|원본 메시지"
    r"|forwarded message|weitergeleitete nachricht|message transféré|mensaje reenviado|reply message|reply above"
    r")\s*[-‐–—_=]{2,}.*)$",
    re.IGNORECASE,
)
_RULE: Final = re.compile(r"\s*[_-]{10,}\s*$")
#: Such a line as Lotus Notes writes it: ``-----Ann wrote: -----``.
_BETWEEN_RULES: Final = re.compile(rf"\s*-{{2,}}\s?\S.{{0,200}}\b(?:{_VERB})\s?:\s*-{{2,}}\s*$", re.IGNORECASE)
#: An attribution after which the quotation goes on in the same line.
_INLINE: Final = re.compile(rf"\s*\S.*\d.*<[^<>\s]+@[^<>\s]+>.{{0,40}}?\b(?:{_VERB})\s?[:：]\s+\S", re.IGNORECASE)
#: Labels of a head that stand alone, each above what it names, below a sender and a date.
_RECIPIENT: Final = re.compile(r"(?:to|an|à|para|a|aan|til|till|do)$", re.IGNORECASE)
_SUBJECT: Final = re.compile(
    r"(?:subject|betreff|objet|asunto|assunto|oggetto|onderwerp|emne|ämne|temat)$", re.IGNORECASE
)
_DATED: Final = re.compile(r"\s*\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\D+\d{1,2}:\d\d")
#: Marks of the direction of a text, which are not seen.
_MARKS: Final = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202b\u202c\u202d\u202e"))
#: The head of a message that is quoted whole: a sender, and below it at least two more of these.
_SENDER: Final = re.compile(
    r"\s*[*_]{0,2}(?:from|von|de|da|van|fra|från|od|lähettäjä|kimden|от|від|差出人|发件人|寄件者|寄件人"
    r"|보낸 사람|보낸사람|από|feladó|מאת|من)\s*[*_]{0,2}\s?[:：]",
    re.IGNORECASE,
)
_OF_HEAD: Final = re.compile(
    r"\s*[*_]{0,2}(?:sent|date|to|cc|subject|gesendet|datum|an|betreff|envoyé|date|à|objet|enviado(?: el| em)?|fecha"
    r"|para|asunto|assunto|data|inviato|a|oggetto|verzonden|aan|onderwerp|sendt|dato|til|emne|skickat|till|ämne|lähetetty"
    r"|vastaanottaja|aihe|wysłano|do|temat|odesláno|komu|předmět|отправлено|дата|кому|тема|копия|送信日時|宛先|件名|日時"
    r"|发送时间|发送日期|收件人|主题|日期|寄件日期|傳送時間|主旨|보낸 날짜|날짜|받는 사람|제목"
    r"|gönderme tarihi|tarih|kime|konu)"
    r"\s*[*_]{0,2}\s?[:：]",
    re.IGNORECASE,
)
#: What a phone puts below a message.
_FROM_PHONE: Final = re.compile(
    r"\s*(?:sent (?:from|with) (?:my|mail|outlook|yahoo|proton|samsung)|get outlook for"
    r"|outlook (?:für|pour|para|per|voor)"
    r"|(?:télécharger|obtener|obter|scarica|ottieni|download|pobierz|скачать) outlook|von meinem .{2,40} gesendet"
    r"|gesendet (?:von|mit)|envoyé (?:de|depuis)|enviado (?:desde|do|de)|inviato da|verstuurd vanaf|skickat från"
    r"|sendt fra|lähetetty|отправлено (?:с|из)|wysłane z|发自我的|從我的|iphoneから送信|나의 .{2,20}에서 보냄).{0,60}$",
    re.IGNORECASE,
)
#: Up to twelve lines below "-- ".
_SIGNATURE_LINES: Final = 12
_QUOTED: Final = re.compile(r"\s{0,3}>")
#: Blank lines that may stand between an attribution and a quotation.
_BLANK_LINES: Final = 20
#: A line is looked at as far as here.
_LOOKED_AT: Final = 400


def own_words(text: str) -> str:
    r"""Return an answer without what it quotes; all of it where nothing else would be left.

    ``On Monday, Ann wrote:\n> Why?\nBecause.`` is ``Because.``
    """
    lines = text.split("\n")
    lines = lines[: _end_of_own(lines)]
    kept: list[str] = []
    for number, line in enumerate(lines):
        if _QUOTED.match(line):
            if number == 0 or not _QUOTED.match(lines[number - 1]):
                _drop_attribution(kept)
        else:
            kept.append(line)
    own = re.sub(r"\n{3,}", "\n\n", "\n".join(_without_signature(kept))).strip()
    return own or text.strip()


def _end_of_own(lines: list[str]) -> int:
    """Return where a message begins that is quoted whole, without a mark at each line."""
    has_marks = any(map(_QUOTED.match, lines))
    for number, line in enumerate(lines):
        short = line[:_LOOKED_AT]
        is_head = _SENDER.match(short) and sum(
            _OF_HEAD.match(other) is not None for other in lines[number + 1 : number + 6]
        )
        if _ORIGINAL.match(short) or _BETWEEN_RULES.match(short) or (is_head and is_head >= 2):
            return number - (number > 0 and _RULE.match(lines[number - 1]) is not None)
        if (begins := _head_above(lines, number)) is not None:
            return begins
        if not has_marks and _OPENS.match(short) and _INLINE.match(short):
            return number
        if not has_marks and (begins := _attribution_at(lines, number)) is not None:
            whole = " ".join(lines[begins : number + 1])
            if _OPENS.match(whole) and _SURE.match(whole) and re.search(rf"(?:{_VERB})", whole, re.IGNORECASE):
                return begins
    return len(lines)


def _head_above(lines: list[str], number: int) -> int | None:
    """Return where a head begins whose recipient stands in a line below this one, as Lotus Notes writes it."""
    if number < 2 or not _RECIPIENT.match(lines[number].strip()):
        return None
    above = [at for at in range(number - 1, max(number - 4, 0), -1) if _DATED.match(lines[at])]
    if not above or not any(_SUBJECT.match(line.strip()) for line in lines[number + 1 : number + 9]):
        return None
    return above[0] - 1


def _attribution_at(lines: list[str], last: int) -> int | None:
    """Return the line in which an attribution begins that ends in the line ``last``, None if there is none."""
    if not lines[last].translate(_MARKS).rstrip().endswith((":", "：")):
        return None
    for first in (last, last - 1, last - 2):
        if first < 0 or not lines[first].strip():
            return None
        if _ATTRIBUTION.match(" ".join(lines[first : last + 1]).translate(_MARKS)[-_LOOKED_AT:]):
            return _begin(lines, first, last)
    return None


def _begin(lines: list[str], first: int, last: int) -> int:
    """Return the line in which a sentence begins that goes on in the line ``first``, as programs break long ones."""
    if _OPENS.match(lines[first][:_LOOKED_AT]):
        return first
    for number in range(first - 1, max(last - 3, -1), -1):
        line = lines[number]
        if not line.strip() or line.rstrip().endswith((".", "!", "?", ":")):
            return first
        if _OPENS.match(line[:_LOOKED_AT]):
            return number
    return first


def _drop_attribution(kept: list[str]) -> None:
    """Take the line away that says whose words follow, and the blank ones below it."""
    last = len(kept) - 1
    while last >= max(len(kept) - _BLANK_LINES, 0) and not kept[last].strip():
        last -= 1
    if last >= 0 and (begins := _attribution_at(kept, last)) is not None:
        del kept[begins:]


def _without_signature(lines: list[str]) -> list[str]:
    marks = [number for number, line in enumerate(lines) if line == "-- "]
    if marks and len("\n".join(lines[marks[-1] + 1 :]).strip().split("\n")) <= _SIGNATURE_LINES:
        lines = lines[: marks[-1]]
    end = len(lines)
    while end and (not lines[end - 1].strip() or _FROM_PHONE.match(lines[end - 1][:_LOOKED_AT])):
        end -= 1
    return lines[:end]
