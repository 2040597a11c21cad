"""OpenDocument: what the controls of its forms show, in the places where they are drawn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_FORM: Final = "{urn:oasis:names:tc:opendocument:xmlns:form:1.0}"
_CONTROL: Final = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}control"
_IDS: Final = (f"{_FORM}id", "{http://www.w3.org/XML/1998/namespace}id")
#: What is no control: forms themselves, and what says something about one.
_AROUND: Final = frozenset(
    f"{_FORM}{name}"
    for name in ("form", "properties", "property", "list-property", "list-value", "option", "item", "column", "hidden")
)
_ON: Final = ("true", "checked")


@dataclass(frozen=True, slots=True)
class Controls:
    """The controls of a document by the names that their places have."""

    found: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, body: Any) -> "Controls":
        """Take the controls of all forms below an element."""
        controls = (each for form in body.iter(f"{_FORM}form") for each in form if isinstance(each.tag, str))
        return cls({each.get(name): each for each in controls for name in _IDS if each.get(name)})

    def text_of(self, place: Any) -> str:
        """Return what the control of a place shows: its label, its value, ``[x]`` or ``[ ]`` before what is ticked."""
        control = self.found.get(place.get(_CONTROL) or "")
        shows = _SHOWN.get(control.tag.removeprefix(_FORM)) if control is not None else None
        return " ".join(shows(control).split(" ")).strip() if shows is not None else ""


def count_unread(forms: Any) -> int:
    """Return how many controls of forms hold something that is not read, such as a picture or a table."""
    controls = (each for each in forms.iter() if isinstance(each.tag, str) and each.tag.startswith(_FORM))
    return sum(each.tag not in _AROUND and each.tag.removeprefix(_FORM) not in _SHOWN for each in controls)


def _label(control: Any) -> str:
    return control.get(f"{_FORM}label") or ""


def _value(control: Any) -> str:
    return control.get(f"{_FORM}current-value") or control.get(f"{_FORM}value") or ""


def _ticked(control: Any) -> str:
    return f"{'[x]' if _is_on(control, 'state', 'selected') else '[ ]'} {_label(control)}"


def _chosen(control: Any) -> str:
    options = control.iterchildren(f"{_FORM}option")
    return ", ".join(_label(each) for each in options if _is_on(each, "selected"))


def _is_on(element: Any, *names: str) -> bool:
    for name in names:
        for form in (f"{_FORM}current-{name}", f"{_FORM}{name}"):
            if (written := element.get(form)) is not None:
                return written in _ON
    return False


_VALUES: Final = ("text", "textarea", "formatted-text", "number", "date", "time", "combobox", "file")
_SHOWN: Final[Mapping[str, Callable[[Any], str]]] = {
    **dict.fromkeys(_VALUES, _value),
    **dict.fromkeys(("fixed-text", "button", "frame"), _label),
    **dict.fromkeys(("checkbox", "radio"), _ticked),
    "listbox": _chosen,
}
