"""Why a message is not among the hits: the gates of a search, and what each says."""

from typing import Final

from querymill_workers.text.calibration import band

#: What a message passes on its way to the hits, in order.
GATES: Final = ("collection", "session", "filter", "exclusions", "vector or words", "threshold", "limit")
#: What is said of the gates that ask whether a message may be found at all.
NOT_SEARCHED: Final = {
    "collection": "the collection has no such message",
    "session": "it is from another session",
    "filter": "it does not pass the filter",
    "exclusions": "it is left out: it is the message given as excluded, or of a type that is not searched",
}
_PLACES: Final = 3


def say_unfound(similarity: float | None, *, compared: bool, looked_at: int) -> str:
    """Say that neither its vector nor its words brought a message near the head of the list."""
    if not compared:
        return f"the question got no vector, and by words it is not among the best {looked_at}"
    near = "it has no vector yet" if similarity is None else f"its similarity is {similarity:.{_PLACES}f}"
    return f"{near}; neither by vector nor by words is it among the best {looked_at}"


def say_below(similarity: float, threshold: float) -> str:
    """Say by how much a message misses the threshold: "0.412 (low), the threshold is 0.700 (medium)"."""
    return (
        f"{similarity:.{_PLACES}f} ({band(similarity)}), the threshold is {threshold:.{_PLACES}f} ({band(threshold)})"
    )


def say_place(place: int, total: int, *, limit: int) -> str:
    """Say that better hits fill the list."""
    return f"place {place} of {total}, {limit} {'is' if limit == 1 else 'are'} returned"


def threshold_for(similarity: float) -> float:
    """Return the threshold, to three places, that a similarity reaches: 0.6127 gives 0.612."""
    return max(int(similarity * 10**_PLACES) / 10**_PLACES, 0.0)
