"""What both sides must agree on about the earlier turns of a chat."""

from typing import Final, Literal

#: Of the turns before a question, so many count: the last ones.
COUNTED_TURNS: Final = 20

#: How a question refers back: by a word such as *it* (``reference``), because it goes on as "and …" does
#: (``continuation``), or because it has hardly any word of its own (``few_words``). ``no``: it stands alone.
Refers = Literal["reference", "continuation", "few_words", "no"]
