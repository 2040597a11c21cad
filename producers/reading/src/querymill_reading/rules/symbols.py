"""Letters of symbol fonts, which have codes of their own, as the signs that a person sees."""

import re
from typing import Final

#: The first code of a symbol font in documents: its own codes are counted from there.
FIRST: Final = 0xF000
_GREEK: Final = dict(
    zip(
        range(0x20, 0x7F),
        " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
        strict=True,
    )
)
_SIGNS: Final = dict(
    zip(
        range(0xA0, 0xFF),
        "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪�〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭",
        strict=True,
    )
)
_WINGDINGS: Final = {
    0x20: " ", 0x21: "✏", 0x22: "✂", 0x28: "☎", 0x29: "✆", 0x2A: "✉", 0x36: "⌛", 0x41: "✌", 0x43: "👍", 0x44: "👎",
    0x45: "☜", 0x46: "☞", 0x47: "☝", 0x48: "☟", 0x4A: "☺", 0x4B: "😐", 0x4C: "☹", 0x4E: "☠", 0x51: "✈", 0x52: "☼",
    0x54: "❄", 0x59: "✡", 0x5B: "☯", 0x6C: "●", 0x6D: "❍", 0x6E: "■", 0x6F: "□", 0x71: "❑", 0x72: "❒", 0x73: "⬧",
    0x74: "⧫", 0x75: "◆", 0x76: "❖", 0x77: "⬥", 0x78: "☒", 0x7A: "⌘", 0x80: "⓪", 0x8C: "❶", 0x9F: "•", 0xA7: "▪",
    0xA8: "☐", 0xAB: "★", 0xB2: "✧", 0xC4: "➔", 0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔",
    0xEF: "⇦", 0xF0: "⇨", 0xF1: "⇧", 0xF2: "⇩", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
} | {0x81 + at: chr(0x2460 + at) for at in range(10)} | {0x8C + at: chr(0x2776 + at) for at in range(10)}  # fmt: skip
_DINGBATS: Final = {0x21 + at: chr(0x2701 + at) for at in range(0x5E)} | {
    0x25: "☎", 0x2A: "☛", 0x2B: "☞", 0x48: "★", 0x6C: "●", 0x6E: "■", 0x73: "▲", 0x74: "▼", 0x75: "◆", 0x77: "◗",
}  # fmt: skip
_WINGDINGS_2: Final = {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0xA3: "☐", 0x98: "•"}
_WINGDINGS_3: Final = {0x66: "←", 0x67: "→", 0x68: "↑", 0x69: "↓", 0x7D: "▶", 0x7C: "◀", 0x84: "◀", 0x75: "▶"}
_FONTS: Final = {
    "symbol": _GREEK | _SIGNS,
    "wingdings": _WINGDINGS,
    "wingdings 2": _WINGDINGS_2,
    "wingdings 3": _WINGDINGS_3,
    "zapfdingbats": _DINGBATS,
    "webdings": {0x61: "✓", 0x63: "□", 0x67: "■", 0x72: "✗", 0x34: "▶", 0x33: "◀"},
}
_FAMILY: Final = re.compile(r"(?:itc)?(wingdings|webdings|zapfdingbats|symbol(?=$|mt|std|regular|bold|italic))([23]?)")
_BULLET: Final = 0x95
#: What stands for a sign that is not known.
UNKNOWN: Final = "\ufffd"


def sign_of(code: int, font: str) -> str:
    """Return the sign that a code of a font shows, `UNKNOWN` if that is not known.

    A font that is no symbol font has the letters of Unicode.
    """
    own = code - FIRST if FIRST <= code < FIRST + 0x100 else code
    table = _FONTS.get(font.strip().lower())
    if table is not None:
        return table.get(own, UNKNOWN)
    if own != code or not 0 < code < 0x110000 or 0xD800 <= code < 0xE000:
        return UNKNOWN
    return chr(code)


def family_of(name: str) -> str:
    """Return which symbol font the name of a font in a file means; nothing for a font of letters.

    >>> family_of("ABCDEF+Wingdings2"), family_of("ZapfDingbatsStd"), family_of("SegoeUISymbol")
    ('wingdings 2', 'zapfdingbats', '')
    """
    plain = re.sub(r"[^a-z0-9]", "", name.rpartition("+")[2].lower())
    found = _FAMILY.match(plain)
    if found is None:
        return "dingbats" if "dingbat" in plain else ""
    return f"{found[1]} {found[2]}".strip() if found[1] == "wingdings" else found[1]


def sign_in(code: int, family: str) -> str:
    """Return what a code shows in a file whose fonts may name signs by letters; `UNKNOWN` if that is not known."""
    is_private = 0xD800 <= code <= 0xF8FF
    if not family or (family == "symbol" and not is_private):
        return UNKNOWN if is_private else chr(code)
    if not is_private and code > 0xFF:
        try:  # where the engine took the code of a sign for that of a letter
            code = chr(code).encode("cp1252")[0]
        except UnicodeEncodeError:
            return chr(code)
        if code == _BULLET:
            return "•"
    own = code - FIRST if FIRST <= code < FIRST + 0x100 else code
    return _FONTS.get(family, {}).get(own, UNKNOWN)


def with_signs(text: str, font: str) -> str:
    """Return a text in which codes of a symbol font are the signs that they show; those of an unknown font stay."""
    if not any(FIRST <= ord(letter) < FIRST + 0x100 for letter in text):
        return text
    shown = (
        (letter, sign_of(ord(letter), font)) if FIRST <= ord(letter) < FIRST + 0x100 else (letter, letter)
        for letter in text
    )
    return "".join(letter if sign == UNKNOWN else sign for letter, sign in shown)
