"""The frame of a question about code: the words that only say that code is looked for.

"Which file handles retries?" is about retries. *File* and *handles* would find the code that says so of itself.
"""

import re
from typing import Final

from querymill_workers.text.lexicon import listed

#: A longer text, in characters, is no such question, and looking for its end would read it again and again.
MAX_CHARS: Final = 300

_UNIT: Final = (
    "(?:(?:source )?files?|modules?|scripts?|class(?:es)?|functions?|methods?|code|place"
    "|parts? of the (?:code|project))"
)
_DEFINER: Final = "(?:code|functions?|methods?|class(?:es)?|module|logic|place|snippet)"
_DOES: Final = (
    "(?:implements?|handles?|defines?|contains?|does|do|takes? care of|deals? with|(?:is|are) (?:used (?:to|for)"
    "|responsible for|in charge of)|happens?)"
)
_LOOK: Final = (
    "(?:(?:(?:can|could|would) you )?(?:please )?(?:show|tell|give|point|help|find|locate|look for|search for)(?: me)?"
    "(?: to)?(?: find)? |i (?:want|need|would like) to (?:know|find|see|understand) |i am looking for |looking for )?"
)
_A: Final = "(?:(?:the|a|an|any|all|our) )?"
_DONE: Final = r" (?:(?:is|are|get|gets) )?(?:implemented|defined|declared|located|handled|done|coded|written)\W*$"
# Each is a question, or names code by what it does, so that "the class of an object" and "list files" stay whole.
_BEFORE: Final = re.compile(
    rf"\W*{_LOOK}(?:"
    # where is …, where do we handle …, in which file is the code that handles …
    rf"(?:where|in (?:which|what) {_UNIT}) (?:is|are|does|do|did|can i find)(?: (?:we|you|they|i))?"
    rf"(?: {_A}{_DEFINER} (?:that|which|for|to|where|responsible for))?(?: {_DOES})?"
    # where … is done
    rf"|where(?=.*{_DONE})"
    # which file implements …, what code is responsible for …
    rf"|(?:which|what) {_UNIT} {_DOES}"
    # the function that does …, code for …, the implementation of …, files that handle …
    rf"|{_A}{_DEFINER} (?:(?:that|which|where)(?: {_DOES})?|for|to|responsible for)"
    rf"|{_A}(?:implementation|definition|code|logic) (?:of|behind)"
    rf"|{_A}{_UNIT} (?:(?:that|which) {_DOES}|responsible for)"
    r")(?![\w(.-])",
    re.IGNORECASE,
)
_WHERE: Final = re.compile(r"\W*(?:.*\b)?where\b", re.IGNORECASE)
# where is … implemented?
_PLACED: Final = re.compile(_DONE, re.IGNORECASE)
# how does … work?
_HOW: Final = re.compile(r"\W*how (?:do|does|did) ", re.IGNORECASE)
_WORKS: Final = re.compile(r" works?\W*$", re.IGNORECASE)

#: How a question begins; a title, a commit message and keywords do not.
_ASKS: Final = re.compile(
    r"\W*(?:(?:and|so|but|hey|hi|please|also),? )?(?:how|what|where|when|why|which|who|whose|is|are|was|were|does"
    r"|do|did|can|could|should|would|will|has|have|if)(?![\w(.-])",
    re.IGNORECASE,
)
# Words that hold a question together and say nothing of its subject. Verbs that name functions (get, make) do not.
_EVERYDAY: Final = re.compile(
    rf"(?<![A-Za-z0-9_./-])(?:{'|'.join(listed('function_words', 'question', 'files'))})(?![A-Za-z0-9_./-])",
    re.IGNORECASE,
)


def is_question(query: str) -> bool:
    """Return whether a request is a question, so that its words are those of who asks and not of the code.

    "how are retries limited" and "retries are limited where?" are, "limit retries" is not.
    """
    return len(query) <= MAX_CHARS and (_ASKS.match(query) is not None or query.rstrip().endswith(("?", "？")))


def without_everyday(text: str) -> str:
    """Leave out the everyday words of a question: "what happens if something fails" gives *what*, *if* and *fails*."""
    return _EVERYDAY.sub(" ", text)


def unframed(query: str) -> str:
    """Return a question without its frame; a question that is nothing but a frame stays.

    "Where is the code that handles retries?" gives "retries?", "Where is the pool defined?" gives "the pool".
    """
    if len(query) > MAX_CHARS:
        return query
    before = _BEFORE.match(query)
    start = before.end() if before else 0
    after = None
    if before and _WHERE.match(before[0]):
        after = _PLACED.search(query, start)
    elif _HOW.match(query):
        after = _WORKS.search(query)
    left = query[start : after.start() if after else len(query)].strip()
    return left if re.search(r"\w", left) else query
