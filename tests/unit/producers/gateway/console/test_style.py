"""The style sheet and the script: colours that can be read, sizes, nothing from elsewhere."""

import re
from pathlib import Path

import pytest

from querymill.gateway import console
from querymill.gateway.console.rendering import STATIC, static_file

HERE = Path(console.__file__).parent
STYLE = static_file("console.css").decode()
COLOURS = {
    name: (light, dark) for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", STYLE)
}
THEMES = ("light", "dark")
#: Texts need 4.5, parts of graphics 3 (WCAG 2.2).
TEXTS = [
    *((name, ground) for name in ("text", "muted", "link", "ok", "warn", "bad") for ground in ("ground", "panel")),
    ("text", "ok-soft"), ("text", "warn-soft"), ("text", "bad-soft"),
    ("muted", "ok-soft"), ("muted", "warn-soft"), ("muted", "bad-soft"),
    ("mark-text", "mark"), ("ground", "link"), ("ground", "text"),
]  # fmt: skip
GRAPHICS = [
    (name, ground)
    for name in ("chat", "embed", "search", "rerank", "own", "wait", "link")
    for ground in ("ground", "panel")
]


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("name", "ground"), TEXTS)
def test_texts_can_be_read(name: str, ground: str, theme: str) -> None:
    place = THEMES.index(theme)
    assert contrast(COLOURS[name][place], COLOURS[ground][place]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("name", "ground"), GRAPHICS)
def test_bars_can_be_told_from_their_ground(name: str, ground: str, theme: str) -> None:
    place = THEMES.index(theme)
    assert contrast(COLOURS[name][place], COLOURS[ground][place]) >= 3


def test_no_colour_stands_outside_of_the_palette() -> None:
    rules = STYLE[STYLE.index("* { box-sizing") :]
    assert re.findall(r"#[0-9a-f]{3,8}\b", rules) == []


def test_nothing_is_loaded_from_elsewhere() -> None:
    for name in STATIC:
        text = static_file(name).decode().replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert "://" not in text
        assert "@import" not in text
    for template in (HERE / "templates").glob("*.html"):
        assert "://" not in template.read_text(), template.name


def test_the_files_are_small() -> None:
    assert len(STYLE) <= 18_000
    assert len(static_file("console.js")) <= 20_000


def test_markup_is_made_of_stored_texts_in_one_place_only() -> None:
    for path in HERE.rglob("*.html"):
        assert not re.search(r"\|\s*safe|autoescape", path.read_text()), path.name
    makers = [path.name for path in HERE.glob("*.py") if re.search(r"\bMarkup\(", path.read_text())]
    assert makers == ["wording.py"]


def test_the_script_evaluates_nothing() -> None:
    script = static_file("console.js").decode()
    assert not re.search(r"\beval\b|innerHTML|outerHTML|insertAdjacentHTML|document\.write|new Function", script)
