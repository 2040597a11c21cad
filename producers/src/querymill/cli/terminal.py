"""The only way to the terminal: stored text is printed as text and has no effect.

Messages, titles, paths, ids and reasons may hold escape sequences, which set a terminal's title, clear it or draw a
prompt, and brackets that rich would read as markup.
"""

import os
import re
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import rich.console
import typer
from rich.segment import Segment

#: Control characters (C0 but a tab and a new line, DEL, C1) and those that reorder the text around them.
_ACTED_UPON = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

#: The width of a table that goes to a pipe or a file, in characters.
_PIPED_WIDTH = 200


class Console(rich.console.Console):
    """A console that reads no markup in strings and leaves out what a terminal would act upon.

    What is no terminal gets lines as long as they are, for `grep` and for copying, and tables of up to 200 characters.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False} | options | {"markup": False, "emoji": False})
        if not self.is_terminal and "width" not in options and "COLUMNS" not in os.environ:
            self.width = _PIPED_WIDTH
            self.soft_wrap = True

    def render(
        self, renderable: rich.console.RenderableType, options: rich.console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render without the characters that a terminal would act upon; rich's own controls pass."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=_ACTED_UPON.sub("", segment.text))


def saying_if_interrupted(command: Callable[..., None], said: str) -> Callable[..., None]:
    """Return a command that says on stderr, when Ctrl-C ends it, what continues without it."""

    @wraps(command)
    def run(*arguments: Any, **parameters: Any) -> None:
        try:
            command(*arguments, **parameters)
        except KeyboardInterrupt:
            Console(stderr=True, soft_wrap=True).print(said)
            raise

    return run


def echo(text: str) -> None:
    r"""Print a line of text or JSON; what a terminal would act upon is written as JSON writes it (``\u001b``)."""
    typer.echo(_ACTED_UPON.sub(lambda found: f"\\u{ord(found[0]):04x}", text))
