"""Run a command with a chat model that rewrites the questions of a set as well as can be.

    python -m tests.quality.perfect_rewrites SET querymill eval SET --kind reports --option standalone=true

A rewrite can only say what the chat says. The best one adds to the question the words of the earlier turns that its
judged texts have, the rarest first. So it knows the judgements: what it adds is what the branch could add at most.
"""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from querymill_evaluation.sets import SetQuery, read_parts
from querymill_workers.text.words import words
from tests.fakes.answers import fenced_texts
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer

#: Words that a rewrite adds, at most.
ADDED: Final = 8
_LETTERS: Final = re.compile(r"\W+")


def perfect_rewrite(question: str, turns: Iterable[str], judged: Iterable[str], known_by: Mapping[str, int]) -> str:
    """Return a question with the words of earlier turns that its judged texts have, the rarest first.

    >>> perfect_rewrite("how old are they?", ["which tugboats?", "Nine."], ["nine old tugboats"], {"tugboat": 1})
    'how old are they? nine tugboats'
    """
    asked, wanted = set(words(question)), {word for text in judged for word in words(text)}
    found: dict[str, str] = {}
    for turn in turns:
        for written in _LETTERS.split(turn):
            for word in words(written)[:1]:
                if word in wanted and word not in asked:
                    found.setdefault(word, written.lower())
    rarest = sorted(found, key=lambda word: (known_by.get(word, 0), word))[:ADDED]
    return " ".join([question, *(found[word] for word in rarest)])


def perfect_rewrites(
    queries: Sequence[SetQuery], qrels: Mapping[str, Mapping[str, int]], texts: Mapping[str, str]
) -> dict[str, str]:
    """Return the perfect rewrite of each question of a set that has earlier turns, by its id."""
    known_by = Counter(word for text in texts.values() for word in set(words(text)))
    return {
        query.query_id: perfect_rewrite(
            query.text,
            [turn.text for turn in query.history],
            [texts[id_] for id_ in qrels[query.query_id] if id_ in texts],
            known_by,
        )
        for query in queries
        if query.history
    }


def texts_of(corpus: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the texts of a set by their ids."""
    return {line["_id"]: f"{line.get('title') or ''}\n{line.get('text') or ''}" for line in corpus}


def main(folder: Path, command: Sequence[str]) -> int:
    """Run the command, and return its exit code."""
    qrels, queries, corpus = read_parts(folder)
    rewrites = perfect_rewrites(queries, qrels, texts_of(corpus))
    by_question = {_key(query.text): rewrites[query.query_id] for query in queries if query.query_id in rewrites}

    def rewrite(request: dict[str, Any]) -> Answer:
        asked = fenced_texts(request, "question")
        found = by_question.get(_key(asked[-1]), "") if asked else ""
        return chat_answer(f"<{found.translate({ord('<'): ' ', ord('>'): ' '})}>" if found else "")

    with OpenAIServer().running() as server:
        server.script.chat = rewrite
        given = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none", "CHAT_MODEL": "perfect"}
        ended = subprocess.run(command, env=os.environ | given, check=False)
        print(f"{len(server.seen('completions'))} rewrites were asked for", file=sys.stderr)
    return ended.returncode


def _key(question: str) -> str:
    """Return the letters of a question: a prompt may show it with other spaces."""
    return _LETTERS.sub("", question).lower()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
