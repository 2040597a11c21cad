"""Tell what a mail quotes from what its author wrote."""

import re
from typing import Final

#: The line before a quotation: ``On Monday, Ann wrote:``. It may continue on a second line.
_ATTRIBUTION: Final = re.compile(
    r"(?:^|\n)[^\n>]*(?:\n[^\n>]+)?(?:wrote|schrieb|écrit|escribió|写道|scrisse)[^\n>]{0,40}[:：]"
    r"[^\S\n]*+\n(?:[^\S\n]*+\n)*+(?=[^\S\n]*+>)"
)
_ORIGINAL: Final = re.compile(
    r"\n[^\S\n]*+(?:-{2,} ?(?:Original Message|Ursprüngliche Nachricht|Forwarded message) ?-{2,}|_{20,}\s*\nFrom: )"
)
#: Up to twelve lines below "-- ".
_SIGNATURE: Final = re.compile(r"\n-- \n(?:.*+\n){0,11}+.*+\n?\Z")


def own_words(text: str) -> str:
    r"""Return an answer without what it quotes; all of it where nothing else would be left.

    ``On Monday, Ann wrote:\n> Why?\nBecause.`` is ``Because.``
    """
    own = _ATTRIBUTION.sub("\n", f"\n{text}")
    if original := _ORIGINAL.search(own):
        own = own[: original.start()].rstrip()
    own = "\n".join(line for line in own.split("\n") if not line.startswith(">"))
    own = re.sub(r"\n{3,}", "\n\n", _SIGNATURE.sub("", own)).strip()
    return own or text.strip()
