"""Answer a question with what the hits say: the sentences and rows of tables that say most of the question.

    texts ─> statements ─> what each says of the question ─> the few that say most ─> lines with citations

A word of the question counts by how few statements have it. A statement says a word itself, or stands under it: in the
heading above it, or in the title of its hit, which counts less.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log
from typing import Final

from querymill_shared.values import value
from querymill_workers.services.rules.sentences import sentences
from querymill_workers.text.tables import TableRow, read_tables
from querymill_workers.text.tokens import estimate
from querymill_workers.text.words import words

#: Statements of a quotation at most.
MAX_STATEMENTS: Final = 3
#: A statement that is longer is cut: in characters.
MAX_CHARS: Final = 600
#: Columns of a row that are said if the question names none.
MAX_COLUMNS: Final = 6
#: Texts are read up to so many characters in total.
MAX_TEXT_CHARS: Final = 100_000
#: What the parts of a score weigh: a word in the heading or title (1 in the statement itself), the share of a row's
#: head that the question says, a figure where one is asked for, each rank of the hit, and years of which none is asked
#: for. Fitted on half of the questions of tests/quality/answers.md.
UNDER: Final = 0.6
HEAD: Final = 0.25
ASKED_FIGURE: Final = 0.15
PER_RANK: Final = 0.01
OTHER_YEAR: Final = 0.2
#: The least share of the question that a quotation must say, and what another statement must add.
NEAR: Final = 0.35
ADDS: Final = 0.15
#: What a word counts beside the sentence that asks, and one that no statement has.
BESIDE: Final = 0.25
UNKNOWN: Final = 0.5
#: Another statement is said too if its score is at least this share of the best.
CLOSE: Final = 0.8
#: A sentence beside a row of a table, or a row beside a sentence, is said if its score is at least this share.
CLOSE_IN_OTHER_FORM: Final = 0.65

_HEADING: Final = re.compile(r"#{1,6}\s+(.*)")
_YEAR: Final = re.compile(r"(?:19|20)\d\d(?!\d)")
_FISCAL: Final = re.compile(r"\b(?:FY|CY)\s?'?(\d\d(?:\d\d)?)\b", re.IGNORECASE)
_ASKS_FIGURE: Final = re.compile(
    r"\bhow (?:much|many|large|big|high|long|old|far)\b|\b(?:amount|number|total|percent\w*|rate|ratio|value|price"
    r"|costs?|revenue|sales|income|expenses?|balance|margin|profit|loss|shares?|average)\b"
    r"|多少|几|多大|多高|率|额|比例|价格",
    re.IGNORECASE,
)
#: A capital after a small letter or a mark that ends no sentence.
_NAME: Final = re.compile(r"(?<=[\w,;] )[A-Z][\w-]+")
_BRACKETS: Final = str.maketrans("[]【】［］", "()()()")
#: Words that ask, and say nothing of what is asked about.
_ASKING: Final = frozenset(words(
    "what which who whom whose when where why how much many does did do is was were are the company company's table "
    "respectively show shown amount value year years between under according"
))  # fmt: skip


@value
class Statement:
    """A sentence, or a row of a table.

    ``hit`` numbers the text that it stands in, from 1, and ``place`` its order there.
    ``says`` are its words; ``head`` those of a row's head, and ``under`` those of the headings that it stands under.
    """

    text: str
    hit: int
    place: int
    says: frozenset[str]
    head: frozenset[str] = frozenset()
    under: frozenset[str] = frozenset()

    @property
    def has_figure(self) -> bool:
        """Whether it has a figure beside years."""
        return any(map(str.isdigit, _YEAR.sub("", self.text)))


@value
class Quotable:
    """The text of a hit, and what it is: its title."""

    text: str
    title: str = ""


def quote(question: str, hits: Sequence[Quotable]) -> list[Statement]:
    """Choose what is quoted, best first; nothing if no statement is near the question."""
    asked = asked_words(question)
    statements = statements_of(question, hits)
    weights = weights_of(asked, names_in(question), statements)
    total = sum(weights.values())
    if not total:
        return []
    wants_figure = _ASKS_FIGURE.search(question) is not None
    scored = sorted(
        ((score(each, weights, total, wants_figure=wants_figure), each) for each in statements),
        key=lambda pair: (-pair[0], pair[1].hit, pair[1].place),
    )
    return _chosen(scored, weights, total)


def said_in(chosen: Sequence[Statement], *, max_tokens: int) -> list[str]:
    """Return the lines of a quotation, each with the number of its hit: at least one, and as many as have room.

    Brackets of the texts become round ones: they would be citations, or links and pictures of a stranger's.
    """
    lines: list[str] = []
    for each in chosen:
        text = each.text.translate(_BRACKETS)
        shown = text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS].rstrip()} …"
        max_tokens -= estimate(shown)
        if lines and max_tokens < 0:
            break
        lines.append(f"{shown} [{each.hit}]")
    return lines


def asked_words(question: str) -> dict[str, float]:
    """Return the words of a question that say what it is about, with what they count.

    Words beside the sentence that asks count less.
    "Answer in USD. What was revenue in FY21?" counts *revenu* and *2021* as 1, *answer* and *usd* as 0.25.
    """
    parts = sentences(question)
    asking = [part for part in parts if "?" in part or "？" in part] or parts
    counts = dict.fromkeys(_topic(question), BESIDE)
    return counts | dict.fromkeys(_topic(" ".join(asking)), 1.0)


def _topic(text: str) -> frozenset[str]:
    """Return the words of a text that say what it is about. FY21 is 2021."""
    years = (year if len(year) == 4 else f"20{year}" for year in _FISCAL.findall(text))
    return (frozenset(words(_FISCAL.sub(" ", text))) - _ASKING) | frozenset(years)


def names_in(question: str) -> frozenset[str]:
    """Return the words of a question that are written as names: Mongolia in "What is the capital of Mongolia?"."""
    return frozenset(words(" ".join(_NAME.findall(question))))


def weights_of(asked: Mapping[str, float], names: frozenset[str], statements: Sequence[Statement]) -> dict[str, float]:
    """Return what the words of a question weigh: more, the fewer statements have them.

    A word that no statement has weighs half, but for a name: what is said of others is no answer.
    """
    count = len(statements)
    having = Counter(word for each in statements for word in (each.says | each.under) & asked.keys())
    rarity = {word: log(1 + (count + 1) / (having[word] + 0.5)) for word in asked}
    known = {word: 1.0 if having[word] or word in names else UNKNOWN for word in asked}
    return {word: share * known[word] * rarity[word] for word, share in asked.items()}


def score(statement: Statement, weights: Mapping[str, float], total: float, *, wants_figure: bool) -> float:
    """Return how much of a question a statement says."""
    said = coverage(statement, weights) / total
    head = len(statement.head & weights.keys()) / len(statement.head) if statement.head else 0.0
    figure = ASKED_FIGURE if wants_figure and statement.has_figure else 0.0
    years = _years(statement.says)
    is_of_other_year = years and not years & weights.keys() and _years(weights)
    points = said * (1 + HEAD * head) + figure - PER_RANK * (statement.hit - 1)
    return points - OTHER_YEAR if is_of_other_year else points


def _years(of: Iterable[str]) -> frozenset[str]:
    return frozenset(word for word in of if _YEAR.fullmatch(word))


def coverage(statement: Statement, weights: Mapping[str, float]) -> float:
    """Return the weight of the words of a question that a statement says or stands under."""
    return sum(
        weight if word in statement.says else UNDER * weight if word in statement.under else 0.0
        for word, weight in weights.items()
    )


def _chosen(scored: Sequence[tuple[float, Statement]], weights: Mapping[str, float], total: float) -> list[Statement]:
    """Choose the best statement that is near, and those that add to it: other words, or the same in another form."""
    chosen: list[Statement] = []
    left = dict(weights)
    for points, each in scored:
        if not chosen and coverage(each, weights) / total < NEAR:
            continue
        new = sum(left[word] for word in left.keys() & each.says) / total
        if chosen and not _adds(points, each, chosen, scored[0][0], new):
            continue
        chosen.append(each)
        left = {word: weight for word, weight in left.items() if word not in each.says}
        if len(chosen) == MAX_STATEMENTS:
            break
    return chosen


def _adds(points: float, each: Statement, chosen: Sequence[Statement], best: float, new: float) -> bool:
    if any(each.text == other.text for other in chosen):
        return False
    is_other_form = all(bool(each.head) != bool(other.head) for other in chosen)
    return new >= ADDS or points >= (CLOSE_IN_OTHER_FORM if is_other_form else CLOSE) * best


def statements_of(question: str, hits: Sequence[Quotable]) -> list[Statement]:
    """Return what the hits say, in order."""
    asked = frozenset(asked_words(question))
    found: list[Statement] = []
    room = MAX_TEXT_CHARS
    for number, hit in enumerate(hits, start=1):
        found += _of_hit(hit, number, asked, room)
        room -= len(hit.text)
        if room <= 0:
            break
    return found


def _of_hit(hit: Quotable, number: int, asked: frozenset[str], room: int) -> Iterator[Statement]:
    title, heading, place = frozenset(words(hit.title)), "", 0
    prose: list[str] = []
    for piece in [*read_tables(hit.text[:room]), ""]:
        found = _HEADING.match(piece) if isinstance(piece, str) else None
        if isinstance(piece, str) and found is None and piece:
            prose.append(piece)
            continue
        under = title | frozenset(words(heading))
        for text in sentences("\n".join(_unwrapped(prose)).replace("**", "")):
            if text.endswith((":", "：")):
                continue  # it leads to what follows
            place += 1
            yield Statement(text, number, place, frozenset(words(text)), under=under)
        prose = []
        if found is not None:
            heading = found[1]
        elif isinstance(piece, TableRow):
            place += 1
            yield _of_row(piece, number, place, asked, under)


def _of_row(row: TableRow, number: int, place: int, asked: frozenset[str], under: frozenset[str]) -> Statement:
    cells = _columns(row, asked)
    lead = " – ".join(dict.fromkeys(filter(None, (row.caption, row.section, row.head))))
    unit = f" ({row.unit.strip('()')})" if row.unit and row.unit not in lead else ""
    if len(cells) == 1:
        column, cell = cells[0]
        text = f"{lead}{unit}{', ' if column else ''}{column}: {cell}"
    else:
        text = f"{lead}{unit}: " + "; ".join(f"{cell} ({column})" if column else cell for column, cell in cells)
    heads = frozenset(words(row.head))
    return Statement(text, number, place, frozenset(words(text)), head=heads, under=under)


def _columns(row: TableRow, asked: frozenset[str]) -> Sequence[tuple[str, str]]:
    """Return the cells of a row under the heads that say most of the question; all, if none says more than others."""
    said = [len(frozenset(words(column)) & asked) for column, _ in row.cells]
    years = [frozenset(_YEAR.findall(column)) & asked for column, _ in row.cells]
    if any(years):
        said = [count if years[at] else 0 for at, count in enumerate(said)]
        chosen = []
        for year in dict.fromkeys(year for each in years for year in each):
            best = max(count for at, count in enumerate(said) if year in years[at])
            chosen += [at for at, count in enumerate(said) if year in years[at] and count == best]
        return [row.cells[at] for at in sorted(set(chosen))][:MAX_COLUMNS]
    best = max(said, default=0)
    return [cell for cell, count in zip(row.cells, said, strict=True) if count == best][:MAX_COLUMNS]


def _unwrapped(lines: Sequence[str]) -> Iterator[str]:
    """Join lines that a page broke within a sentence."""
    joined = ""
    for line in lines:
        stripped = line.strip()
        if not stripped:
            if joined:
                yield joined
            joined = ""
        elif joined and len(joined) >= 50 and joined[-1] not in ".!?:;。！？：；" and stripped[:1].islower():
            joined += " " + stripped
        else:
            if joined:
                yield joined
            joined = stripped
    if joined:
        yield joined
