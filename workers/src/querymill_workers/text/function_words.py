"""Chinese function words: they are blanked before a text is indexed, as English ones are left out."""

import re
from typing import Final

import rjieba

#: Words that say nothing about the topic of a text.
CHINESE_FUNCTION_WORDS: Final = frozenset(
    re.findall(
        "[^ ]+",
        # of one character
        "的 了 着 过 地 得 吗 呢 吧 啊 呀 嘛 么 是 在 有 和 与 及 或 就 都 也 还 又 很 太 更 最 把"
        " 被 给 让 对 向 从 到 由 于 以 为 用 不 没 要 会 能 想 请 这 那 哪 我 你 您 他 她 它 们 几"
        " 谁 而 但 则 若 之 其"
        # of several
        " "
        "我们 你们 他们 她们 它们 自己 大家 咱们 这个 那个 这些 那些 这样 那样 这里 那里 哪里 哪个 哪些 什么"
        " 怎么 怎样 怎么样 如何 为什么 多少 一个 一些 一下 一样 可以 可能 能够 应该 需要 必须 没有 不是 不要 不能"
        " 不会 还是 就是 只是 但是 不过 可是 而且 并且 因为 所以 由于 因此 如果 那么 虽然 然后 或者 以及 已经"
        " 正在 现在 一直 比较 非常 真的 其实 关于 对于 通过 根据 按照 请问 谢谢",
    )
)
_CHINESE: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")


def without_function_words(text: str) -> str:
    """Replace Chinese function words with blanks, one per character, so that offsets of other words stay the same.

    Stored texts and queries must both go through this function.
    """
    return _CHINESE.sub(_kept, text)


def _kept(run: re.Match[str]) -> str:
    return "".join(" " * len(word) if word in CHINESE_FUNCTION_WORDS else word for word in rjieba.cut(run[0]))
