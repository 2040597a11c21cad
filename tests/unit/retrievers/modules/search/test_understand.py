import pytest

from querymill_workers.retrievers.modules.search.understand import chosen_channels
from querymill_workers.vectors.rules.weights import VectorsWeight


@pytest.mark.parametrize(
    ("named", "text", "channels"),
    [
        (None, "a cone with a blue background", ("modules", "text")),
        (None, "设置背景颜色为蓝色", ("modules", "text", "vectors")),
        (None, "请用vtkActor渲染", ("modules", "text", "vectors")),
        (None, "What does 毛利 mean here?", ("modules", "text")),
        (("modules", "text"), "设置背景颜色为蓝色", ("modules", "text")),
        (("vectors",), "a cone", ("vectors",)),
    ],
)
def test_vectors_are_searched_for_a_chinese_request_or_where_they_are_named(
    named: tuple[str, ...] | None, text: str, channels: tuple[str, ...]
) -> None:
    assert chosen_channels(named, [text], VectorsWeight(0.25)) == channels
