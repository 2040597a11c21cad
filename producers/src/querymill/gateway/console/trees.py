"""How the tree of a score is written: each number with the numbers that it comes from, in one line. Pure."""

from querymill.gateway.console.wording import score
from querymill.presenting.explain.scores import ScorePart


def is_inverse(part: ScorePart) -> bool:
    """Return whether a part is 1 / another."""
    return part.op == "power" and len(part.parts) == 2 and part.parts[1].value == -1 and not part.parts[1].parts


def below(part: ScorePart) -> tuple[ScorePart, ...]:
    """Return the parts that are shown below a part. Those of an inverse are those of the number below the line."""
    if is_inverse(part):
        return part.parts[0].parts or part.parts[:1]
    return part.parts


def terms(part: ScorePart) -> str:
    """Write what a part comes from.

    >>> terms(ScorePart("rank", 0.9, "sum", (ScorePart("one", 1.0), ScorePart("added", -0.1))))
    '= 1 − 0.1'
    >>> terms(ScorePart("inverse", 0.1, "power", (ScorePart("k + rank", 10.0), ScorePart("power", -1.0))))
    '= 1 / 10'
    """
    values = [score(each.value) for each in part.parts]
    if not values or part.op == "given":
        return ""
    if is_inverse(part):
        return f"= 1 / {values[0]}"
    match part.op:
        case "product":
            return f"= {' × '.join(values)}"
        case "sum":
            return f"= {' + '.join(values).replace('+ -', '− ')}"
        case "power":
            return f"= {values[0]} to the power of {values[1]}"
        case "min" | "max":
            return f"= the {'smaller' if part.op == 'min' else 'larger'} of {' and '.join(values)}"
        case "curve":
            return f"on its curve at {values[0]}"
        case _:
            return ""
