"""Which collection and kind a tool is to use."""

from querymill.agents.access import Access
from querymill.agents.searches import preferred
from querymill.agents.tools.faults import Fault, listed, quoted
from querymill_shared.contracts.filters import Retriever


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
