"""What editors are told of a file: the ``charset`` of ``.editorconfig``."""

from pathlib import Path

from editorconfig import EditorConfigError, get_properties


def charset_of(path: Path) -> str | None:
    """Return the encoding in which editors save a file; None if it is not said, or Unicode of eight bits."""
    try:
        charset = get_properties(str(path)).get("charset")
    except (EditorConfigError, OSError, UnicodeError):
        return None
    return None if charset in {None, "unset", "utf-8", "utf-8-bom"} else charset
