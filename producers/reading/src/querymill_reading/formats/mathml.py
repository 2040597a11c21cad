"""MathML, as HTML and EPUB have it: formulas as text on one line."""

from collections.abc import Mapping
from typing import Any, Final

#: Signs between the parts of a formula, and what has several parts but is one.
_BETWEEN: Final[Mapping[str, tuple[str, ...]]] = {
    "mfrac": ("/",), "msup": ("^",), "msub": ("_",), "msubsup": ("_", "^"), "mover": ("^",), "munder": ("_",),
    "munderover": ("_", "^"), "mtr": (" ",), "mtable": ("; ",),
}  # fmt: skip
_LEAVES: Final = ("mi", "mn", "mo", "mtext", "ms")
_LEFT_OUT: Final = ("annotation", "annotation-xml", "mphantom")
#: Nesting that is followed.
MAX_DEPTH: Final = 50


def formula(element: Any, depth: int = 0) -> str:
    """Return a formula: the half of n and x squared as "n/2+x^2", with brackets around parts of several signs."""
    tag = element.tag.lower().rpartition("}")[2].rpartition(":")[2] if isinstance(element.tag, str) else ""
    if tag in _LEFT_OUT or not tag or depth > MAX_DEPTH:
        return ""
    if tag in _LEAVES:
        return " ".join("".join(element.itertext()).split())
    parts = [formula(child, depth + 1) for child in element]
    if tag == "mroot" and len(parts) == 2:
        return f"{parts[1]}√({parts[0]})"
    if tag == "msqrt":
        return f"√({''.join(parts)})"
    if tag in _BETWEEN:
        is_list = tag in ("mtr", "mtable")
        shown = parts if is_list else [_bracketed(part, child) for part, child in zip(parts, element, strict=True)]
        signs = _BETWEEN[tag]
        return "".join(
            f"{signs[min(at - 1, len(signs) - 1)] if at else ''}{part}" for at, part in enumerate(shown)
        )  # fmt: skip
    return "".join(parts)


def _bracketed(text: str, element: Any) -> str:
    """Put a part in brackets unless it is one sign."""
    return f"({text})" if len(element) > 1 and len(text) > 1 else text
