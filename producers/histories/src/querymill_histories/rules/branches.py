"""Branches of a tree of messages that a person has left: who goes back and types again abandons what followed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


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


def path_to(parents: Mapping[str, str | None], leaf: str | None) -> list[str]:
    """Return the nodes from the root to a leaf; all of them if the way is broken, so that nothing is lost.

    Args:
        parents: The parent of each node, in the order of the file; None for a root.
        leaf: Where the shown branch ends; by default the last node.
    """
    node = leaf if leaf in parents else next(reversed(list(parents)), None)
    found: dict[str, None] = {}
    while node is not None and node in parents and node not in found:
        found[node] = None
        node = parents[node]
    return list(reversed(found)) if node is None else list(parents)


def newest_leaf(children: Mapping[str, Sequence[str]]) -> str | None:
    """Return where one arrives from the first node, taking the last child each time."""
    below = {child for listed in children.values() for child in listed}
    node = next((id_ for id_ in children if id_ not in below), None)
    seen: set[str] = set()
    while node is not None and node not in seen and children[node]:
        seen.add(node)
        node = children[node][-1]
    return node


def shown_nodes(nodes: Mapping[str, Any], current: Any) -> list[str]:
    """Return the nodes of a tree that are shown, of objects with ``parent`` and ``children``.

    Without a current node, the newest answers are followed. Of two nodes, it is enough that one names the other.
    """
    records = {id_: node if isinstance(node, dict) else {} for id_, node in nodes.items()}
    children: dict[str, list[str]] = {}
    for id_, node in records.items():
        listed = node.get("children")
        children[id_] = [child for child in listed if isinstance(child, str) and child in records] if isinstance(
            listed, list) else []  # fmt: skip
    parents: dict[str, str | None] = {child: id_ for id_, listed in children.items() for child in listed}
    for id_, node in records.items():
        parent = node.get("parent")
        parents[id_] = parent if isinstance(parent, str) else parents.get(id_)
        if isinstance(parent, str) and parent in children and id_ not in children[parent]:
            children[parent].append(id_)
    return path_to(
        {id_: parents[id_] for id_ in records},
        current if isinstance(current, str) and current in records else newest_leaf(children),
    )
