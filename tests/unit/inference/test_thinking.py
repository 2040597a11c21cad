import pytest

from querymill_workers.inference.thinking import ThinkingFilter


def filtered(*parts: str) -> str:
    heard: list[str] = []

    def hear(part: str) -> bool:
        heard.append(part)
        return True

    reply = ThinkingFilter(hear)
    for part in parts:
        reply.hear(part)
    reply.end()
    return "".join(heard)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (["<think>hm</think>It rose [1]."], "It rose [1]."),
        (["<thi", "nk>h", "m</th", "ink>\n\nIt ro", "se."], "It rose."),
        (["a < b", " and c <", "d"], "a < b and c <d"),
        (["It rose.<think>never closed"], "It rose."),
        (["<Thinking>x</Thinking>y"], "y"),
        (["5 <"], "5 <"),
    ],
)
def test_reasoning_is_taken_out_wherever_the_parts_are_cut(parts: list[str], said: str) -> None:
    assert filtered(*parts) == said


def test_every_cut_gives_the_same_reply() -> None:
    whole = "a<think>b < c</think>d <e> f"
    assert {filtered(whole[:cut], whole[cut:]) for cut in range(len(whole) + 1)} == {"ad <e> f"}
