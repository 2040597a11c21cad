"""Branches of a tree of messages that a person has left: who goes back and types again abandons what followed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping


def abandoned(parents: Mapping[str, str | None], typed: Iterable[str]) -> frozenset[str]:
    """Return the nodes on branches that were left.

    A fork is one only where several children lead to a typed message: parallel tool calls give forks as well. The
    branch that is typed on last is kept. A child that leads to no typed message is kept too.

    ``{b: a, c: a}`` with ``b`` and ``c`` typed, in this order, leaves out ``b`` and all that follows it.

    Args:
        parents: The parent of each node, in the order of the file.
        typed: The nodes that a person typed.
    """
    order = {node: number for number, node in enumerate(parents)}
    latest: dict[str, int] = {}
    for leaf in sorted(typed, key=order.__getitem__, reverse=True):
        node: str | None = leaf
        while node is not None and node in parents and node not in latest:
            latest[node] = order[leaf]
            node = parents[node]
    children: defaultdict[str, list[str]] = defaultdict(list)
    for node, parent in parents.items():
        if parent is not None:
            children[parent].append(node)
    left: list[str] = []
    for below in children.values():
        leading = sorted((node for node in below if node in latest), key=latest.__getitem__)
        left += leading[:-1]
    found: set[str] = set()
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left += children[node]
    return frozenset(found)
