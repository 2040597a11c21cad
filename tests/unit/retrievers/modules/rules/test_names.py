import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from querymill_workers.retrievers.modules.rules.names import (
    FoundModule,
    analyze_query,
    camel_words,
    hits,
    key_of,
    reversal,
    shorthands_of,
)

COMMON = shorthands_of(
    {"actor": [], "mapper": [], "ConeSource": [], "backdrop": ["vtkRenderer"], "锥体": ["vtkConeSource"]},
    ["vtk.Filters.Sources.vtkSphereSource", "vtkSTLReader", "vtkVolume"],
)


def names(text: str) -> list[str]:
    return [module.name for module in analyze_query(text, shorthands=COMMON)]


def rules(text: str) -> dict[str, str]:
    return {module.name: module.rule for module in analyze_query(text, shorthands=COMMON)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("use vtk.Rendering.Core.vtkActor here", ["vtkActor"]),
        ("use VTK.rendering.CORE.vtkactor.", ["vtkactor"]),
        ("vtk.Rendering.Core.vtkActor.newInstance()", ["vtkActor"]),
        ("vtk.Rendering.Core.Actor2D", ["Actor2D"]),
        ("请用vtkActor渲染", ["vtkActor"]),
        ("用vtk.Rendering.Core.vtkActor渲染", ["vtkActor"]),
        ("vtkConeSource和vtkMapper，还有vtkConeSource", ["vtkConeSource", "vtkMapper"]),
        ("vtkactor is no class name, myvtkActor neither", []),
        ("the vtk way, VTK, vtk.js and vtk.", []),
        ("", []),
        ("an ACTOR and a mapper", ["actor", "mapper"]),
        ("a factor, actors, my_actor, actor2", []),
        ("画一个actor吧", ["actor"]),
        ("make a cone source", ["ConeSource"]),
        ("make a cone-source, a CONE_SOURCE, a conesource", ["ConeSource"]),
        ("a cone, source", []),
        ("a co nesource", []),
        ("a sphere source and an STL reader", ["SphereSource", "STLReader"]),
        ("a light backdrop", ["vtkRenderer"]),
        ("一个锥体", ["vtkConeSource"]),
        ("actor then vtkActor", ["actor"]),
        ("the mapper of vtkActor", ["mapper", "vtkActor"]),
    ],
)
def test_a_text_names_these_modules(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_each_module_says_which_rule_produced_it_and_from_which_words() -> None:
    text = "vtk.Common.Core.vtkMath, vtkPlane, a volume, a sphere source, a backdrop"
    assert rules(text) == {
        "vtkMath": "path",
        "vtkPlane": "class",
        "Volume": "shorthand",
        "SphereSource": "words",
        "vtkRenderer": "alias",
    }
    assert FoundModule("SphereSource", "words", "sphere source", text.index("sphere")) in analyze_query(
        text, shorthands=COMMON
    )


def test_the_words_of_a_path_name_no_further_modules() -> None:
    assert names("vtk.Volume.Core.vtkMath") == ["vtkMath"]


@pytest.mark.parametrize(
    ("module", "name", "suffix", "exact"),
    [
        ("vtkActor", "vtk.Rendering.Core.vtkActor", True, True),
        ("actor", "vtk.Rendering.Core.vtkActor", True, True),
        ("VTKACTOR", "vtkActor", True, True),
        ("vtkMapper", "vtkImageMapper", True, False),
        ("vtkImageMapper", "vtkMapper", False, False),
        ("Rendering", "vtk.Rendering.Core.vtkActor", False, False),
        ("vtk", "vtkActor", False, False),
        ("", "vtkActor", False, False),
        (".*", "vtkActor", False, False),
    ],
)
def test_a_documents_module_counts_or_not(module: str, name: str, suffix: bool, exact: bool) -> None:
    assert hits(module, name, match="suffix") is suffix
    assert hits(module, name, match="exact") is exact


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ConeSource", ["cone", "source"]),
        ("STLReader", ["stl", "reader"]),
        ("OBJWriter2", ["obj", "writer", "2"]),
        ("XMLPolyDataReader", ["xml", "poly", "data", "reader"]),
    ],
)
def test_camel_case_names_split_into_words(name: str, words: list[str]) -> None:
    assert camel_words(name) == words


_NAME = st.from_regex(r"\A(vtk|VTK)?[A-Za-z][A-Za-z0-9]{0,9}\Z")


@given(module=_NAME, name=_NAME)
@example(module="vtkA", name="vtkBA")
def test_a_suffix_of_a_name_is_a_prefix_of_its_reversal(module: str, name: str) -> None:
    key = key_of(module)
    if key:
        assert hits(module, name, match="suffix") == reversal(name).startswith(key[::-1])


@given(module=_NAME, name=_NAME)
def test_what_hits_exactly_hits_by_suffix_too(module: str, name: str) -> None:
    if hits(module, name, match="exact"):
        assert hits(module, name, match="suffix")


@given(before=st.text("渲染用的。 ，（", max_size=5), after=st.text("渲染用的。 ，）", max_size=5), name=_NAME)
def test_a_class_name_is_found_whatever_chinese_surrounds_it(before: str, after: str, name: str) -> None:
    name = f"vtk{name[0].upper()}{name[1:]}"
    assert names(f"{before}{name}{after}") == [name]


@given(st.text(max_size=200))
def test_any_text_is_analysed_without_error_and_never_yields_vtk_or_doubles(text: str) -> None:
    found = analyze_query(text, shorthands=COMMON)
    keys = [module.key for module in found]
    assert "" not in keys
    assert len(set(keys)) == len(keys)
    assert [module.start for module in found] == sorted(module.start for module in found)


@pytest.mark.parametrize("piece", ["vtk.", "vtkA.", "a ", "a_", "vtk.a.", "("])
def test_a_hostile_text_takes_no_longer_than_its_length_asks(piece: str) -> None:
    started = time.process_time()
    analyze_query(piece * (80_000 // len(piece)), shorthands=COMMON)
    assert time.process_time() - started < 10
