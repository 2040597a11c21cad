"""The encoding that a file names itself: in its first lines, or where an editor looks."""

import re
from collections.abc import Iterator
from typing import Final

#: Editors look at so many lines at the beginning and at the end, and at so many bytes for variables of Emacs.
_LINES: Final = 5
_TAIL: Final = 3_000
_NAME: Final = rb"[\"']?([-_.:A-Za-z0-9]+)"
#: PEP 263; Ruby reads the same. Then Emacs in any comment, XML, style sheets, and HTML.
_HEADS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rb"\A(?:\xef\xbb\xbf)?(?:[^\n]*\n)?[ \t\f]*#.*?coding[:=][ \t]*" + _NAME,
        rb"\A(?:[^\n]*\n)?[^\n]*-\*-[^\n]*?coding:[ \t]*" + _NAME + rb"[^\n]*-\*-",
        rb"\A\s*<\?xml[^>]*?encoding[ \t]*=[ \t]*" + _NAME,
        rb"\A@charset[ \t]+" + _NAME,
        rb"<meta[^>]{1,200}?charset[ \t]*=[ \t]*" + _NAME,
    )
)
_VIM: Final = re.compile(rb"(?:^|[ \t])(?:vim?|ex):[^\n]*?\b(?:fileencoding|fenc)=" + _NAME)
_EMACS: Final = re.compile(rb"Local Variables:.*?\bcoding:[ \t]*" + _NAME, re.DOTALL)
#: What Emacs says of the ends of lines.
_LINE_ENDS: Final = re.compile("-(?:unix|dos|mac)$")
#: So much of a file is searched for its head.
_HEAD: Final = 1_024


def declared_in(raw: bytes) -> Iterator[str]:
    """Yield the names of encodings that a file gives itself, the most binding first."""
    head = raw[:_HEAD]
    for pattern in _HEADS:
        if found := pattern.search(head):
            yield _LINE_ENDS.sub("", found[1].decode("ascii"))
    lines = raw.splitlines()
    for line in (*lines[:_LINES], *lines[-_LINES:]):
        if found := _VIM.search(line):
            yield found[1].decode("ascii")
    if found := _EMACS.search(raw[-_TAIL:]):
        yield _LINE_ENDS.sub("", found[1].decode("ascii"))
