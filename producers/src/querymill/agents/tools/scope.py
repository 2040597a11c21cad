"""Which collection and kind a tool is to use."""

from querymill.agents.access import Access
from querymill.agents.searches import ALL, AskedKind, preferred
from querymill.agents.tools.faults import Fault, listed, quoted
from querymill_shared.contracts.filters import Retriever


async def chosen_or_all(access: Access, collection: str | None, kind: Retriever | None) -> tuple[str, AskedKind]:
    """Return the collection and the kind that are meant: everything, if none of several is named.

    Raises:
        Fault: It is not clear, or there is nothing of the kind.
    """
    if collection is None and kind is None and len(await access.collections()) > 1:
        return ALL, ALL
    return await chosen(access, collection, kind)


async def chosen(access: Access, collection: str | None, kind: Retriever | None) -> tuple[str, Retriever]:
    """Return the collection and the kind that are meant. Where there is only one, it need not be named.

    Raises:
        Fault: It is not clear, or there is nothing of the kind.
    """
    known = await access.collections()
    name = _collection(list(known), collection)
    kinds = known[name]
    if not kinds:
        raise Fault(f"{name} holds nothing yet")
    if kind is not None and kind not in kinds:
        raise Fault(f"{name} holds {listed(kinds)}, no {kind}")
    return name, kind or preferred(kinds)


def _collection(known: list[str], given: str | None) -> str:
    if not known:
        raise Fault("there is no collection that you may use")
    if given is None and len(known) == 1:
        return known[0]
    if given is None:
        raise Fault(f"say which collection: {listed(known)}")
    if given not in known:
        raise Fault(f"no collection {quoted(given)}; you may use {listed(known)}")
    return given
