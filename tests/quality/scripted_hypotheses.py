"""Run a command with a chat model that replies with the hypothetical hits of a file, or with those of other questions.

    python -m tests.quality.scripted_hypotheses SET KIND on-topic querymill eval SET --kind KIND --option hyde=true
    python -m tests.quality.scripted_hypotheses SET KIND off-topic querymill eval SET --kind KIND --option hyde=true

The hits stand in `natural/hypotheses.jsonl`. They were written by somebody who knew the gold: what they gain is what
HyDE could gain at most. Off-topic, each question gets the one that was written for the seventh question after it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from querymill_evaluation.sets import read_parts
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer

WRITTEN: Final = Path(__file__).parent / "natural" / "hypotheses.jsonl"
#: So many questions lie between a question and the one whose hypothesis it gets off-topic.
SHIFT: Final = 7


def replies_of(questions: Mapping[str, str], written: Mapping[str, str], *, shift: int) -> dict[str, str]:
    """Return the reply to each question, by its text: what was written for the one ``shift`` places after it.

    >>> replies_of({"a": "tin?", "b": "copper?"}, {"a": "of tin", "b": "of copper"}, shift=1)
    {'tin?': 'of copper', 'copper?': 'of tin'}
    """
    ids = list(questions)
    return {questions[id_]: written[ids[(place + shift) % len(ids)]] for place, id_ in enumerate(ids)}


def main(folder: Path, kind: str, quality: str, command: Sequence[str]) -> int:
    """Run the command, and return its exit code."""
    lines = map(json.loads, WRITTEN.read_text(encoding="utf-8").splitlines())
    written = {line["_id"]: line["hyde"] for line in lines if line["kind"] == kind}
    questions = {query.query_id: query.text for query in read_parts(folder)[1]}
    replies = replies_of(questions, written, shift=SHIFT if quality == "off-topic" else 0)

    def reply(request: dict[str, Any]) -> Answer:
        said = request["messages"][-1]["content"]
        return chat_answer(next((text for question, text in replies.items() if question in said), ""))

    with OpenAIServer().running() as server:
        server.script.chat = reply
        # Replies are kept by the name of the model.
        given = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none", "CHAT_MODEL": quality}
        ended = subprocess.run(command, env=os.environ | given, check=False)
        print(f"{len(server.seen('completions'))} hypotheses were asked for", file=sys.stderr)
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]))
