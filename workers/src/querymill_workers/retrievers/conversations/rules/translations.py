"""The English of Chinese questions, for histories that were talked about in English.

Most of it says what was done to technical things, so it is looked up only where a question is in another script than
the sessions.
"""

import re
from functools import lru_cache
from typing import Final

from querymill_workers.text.thesaurus import Expansion, Thesaurus, longest_of

#: A word adds at most so many English ones.
_MOST: Final = 3


def translate(text: str, thesaurus: Thesaurus) -> list[Expansion]:
    """List what a question adds for sessions in the other script: synonyms of its terms, and its words in English.

    Worked example: 删除会话的快捷键 gives delete and remove for 删除, session for 会话, shortcut and hotkey for 快捷键.
    """
    found = {added.term: list(added.synonyms) for added in thesaurus.expand(text) if added.term.isascii()}
    for term in _other_terms(thesaurus).findall(text.casefold()):
        found[term] = [*thesaurus.english.get(term, ()), *thesaurus.synonyms.get(term, ())]
    latin = {term: list(dict.fromkeys(word for word in words if word.isascii())) for term, words in found.items()}
    return [Expansion(term, tuple(words[:_MOST])) for term, words in latin.items() if words]


@lru_cache(maxsize=1)
def _other_terms(thesaurus: Thesaurus) -> re.Pattern[str]:
    return longest_of([term for term in {**thesaurus.english, **thesaurus.synonyms} if not term.isascii()])
