"""Charts of Office files: in which form a value is shown, by the labels of its series, or else by its axis."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from querymill_reading.rules.number_formats import DayNumber, general, shown_day, shown_number

CHART: Final = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
#: A form of figures that are days, and what of a form is shown as it is.
_OF_DAYS: Final = re.compile(r"[ymd]{2,}|[ymd][-/.]", re.I)
_LITERALS: Final = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
_ON, _OFF = ("1", "true", None), ("0", "false")
_SHARE: Final = "0%"
_SEPARATOR: Final = "; "


@dataclass(frozen=True, slots=True)
class _Label:
    """What the label of a value shows, and in which form; ``code`` is empty if it is that of the values."""

    has_value: bool = False
    has_share: bool = False
    code: str = ""
    separator: str = _SEPARATOR

    @classmethod
    def of(cls, element: Any) -> "_Label":
        if _is_on(element, "delete"):
            return cls()
        separator = element.findtext(f"{CHART}separator") or _SEPARATOR
        return cls(_is_on(element, "showVal"), _is_on(element, "showPercent"), _own_code(element), separator)


@dataclass(frozen=True, slots=True)
class Labels:
    """The forms of the values of a series: that of its labels, of single ones, and of its axis."""

    usual: _Label
    single: Mapping[int, _Label]
    axis: str

    @classmethod
    def of(cls, series: Any) -> "Labels":
        """Take what a series says, or else the plot that it stands in."""
        plot = series.getparent()
        own = next((found for each in (series, plot) if (found := each.find(f"{CHART}dLbls")) is not None), None)
        if own is None:
            return cls(_Label(), {}, _code_of_axis(plot))
        singles = own.iterchildren(f"{CHART}dLbl")
        places = {each: (each.find(f"{CHART}idx")) for each in singles}
        single = {
            int(place.get("val")): _Label.of(each)
            for each, place in places.items()
            if place is not None and (place.get("val") or "").isdecimal()
        }
        return cls(_Label.of(own), single, _code_of_axis(plot))

    def shown(self, place: int, value: str, written: str, figures: Sequence[str], *, is_1904: bool) -> str:
        """Return a value, or its share of all ``figures``, as it is shown; ``written`` is the form of the values."""
        label = self.single.get(place, self.usual)
        share = _share_of(value, figures) if label.has_share else None
        if label.has_value or share is None:
            code = (label.code or written) if label.has_value else (self.axis or written)
            shown = in_form(value, code, is_1904=is_1904, is_exact=not (label.has_value and label.code))
        else:
            shown = ""
        if share is None:
            return shown
        of_all = shown_number(share, label.code if "%" in label.code else _SHARE)
        return label.separator.join(filter(None, (shown, of_all)))


def in_form(value: str, code: str, *, is_1904: bool, is_exact: bool) -> str:
    """Return a figure in a form, a day in that of ISO 8601, and a name as it is.

    If it must be exact, a form that rounds it is not used, but for its sign of percent.
    """
    try:
        figure = float(value)
    except ValueError:
        return value
    plain = _LITERALS.sub("", code)
    if _OF_DAYS.search(plain):
        return shown_day(DayNumber(figure, is_1904), "yyyy-mm-dd")
    if not code or code.lower() == "general":
        return general(figure)
    shown = shown_number(figure, code)
    if not is_exact or _figure_in(shown) == _rounded(figure):
        return shown
    return f"{general(100 * figure)}%" if "%" in plain else general(figure)


def is_since_1904(element: Any) -> bool:
    """Return whether the chart of an element counts its days from 1904 on."""
    since = next(element.getroottree().iter(f"{CHART}date1904"), None)
    return since is not None and since.get("val") not in _OFF


def _figure_in(shown: str) -> float | None:
    """Return the figure that a text shows, with its sign and its percent."""
    digits = re.sub(r"[^0-9.\-]", "", shown.replace("(", "-"))
    try:
        return _rounded(float(digits) / (100 if "%" in shown else 1))
    except ValueError:
        return None


def _rounded(figure: float) -> float:
    return float(f"{figure:.10g}")


def _share_of(value: str, figures: Sequence[str]) -> float | None:
    """Return which share of all figures one is; None if one of them is none, or they are nothing together."""
    try:
        whole = sum(abs(float(figure)) for figure in figures)
        return abs(float(value)) / whole if whole else None
    except ValueError:
        return None


def _is_on(element: Any, name: str) -> bool:
    found = element.find(f"{CHART}{name}")
    return found is not None and found.get("val") in _ON


def _own_code(element: Any) -> str:
    """Return the form that an element has for itself; nothing if it has that of the values."""
    form = element.find(f"{CHART}numFmt")
    return (form.get("formatCode") or "") if form is not None and form.get("sourceLinked") in (*_OFF, None) else ""


def _code_of_axis(plot: Any) -> str:
    """Return the form that the axis of values has for itself, if it is shown and has the values, and not shares."""
    grouping = plot.find(f"{CHART}grouping")
    if grouping is not None and grouping.get("val") == "percentStacked":
        return ""
    ids = {each.get("val") for each in plot.iterchildren(f"{CHART}axId")}
    for axis in plot.getparent().iterchildren(f"{CHART}valAx") if plot.getparent() is not None else ():
        own = axis.find(f"{CHART}axId")
        position = axis.find(f"{CHART}axPos")
        is_of_points = plot.tag in (f"{CHART}scatterChart", f"{CHART}bubbleChart")
        is_across = position is not None and position.get("val") in ("b", "t")
        if (
            own is not None
            and own.get("val") in ids
            and not (is_of_points and is_across)
            and not _is_on(axis, "delete")
        ):
            return _own_code(axis)
    return ""
