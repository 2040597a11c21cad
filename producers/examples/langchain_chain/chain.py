"""A LangChain chain: Querymill retrieves, a prompt numbers the passages, a chat model answers and cites them.

The model is scripted, so that this runs without a key. Put yours in its place, such as ChatOpenAI(model="…").
Run it in this folder of a checkout:
  pip install ../../../shared ../../histories ../../reading "../..[board,langchain]"
  REDIS_URL=redis://127.0.0.1:6379/0 python chain.py filings "How many ships does Nordhav have?"
With "../..[http,langchain]", MILL_URL and MILL_KEY name a gateway in place of REDIS_URL.
"""

import os
import sys
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnablePassthrough

from querymill.adapters.langchain import QuerymillRetriever

PROMPT = ChatPromptTemplate.from_messages(
    [
        ("system", "Answer from these passages only, and cite their numbers.\n\n{passages}"),
        ("human", "{question}"),
    ]
)


class QuotingModel(SimpleChatModel):
    """Answers with the first passage that it is shown."""

    @property
    def _llm_type(self) -> str:
        return "quoting"

    def _call(self, messages: list[BaseMessage], *_: Any, **__: Any) -> str:
        _, _, passages = str(messages[0].content).partition("\n\n")
        return passages.partition("\n\n[2]")[0] or "The passages do not say."


def numbered(documents: list[Document]) -> str:
    """Return the passages as the prompt shows them."""
    return "\n\n".join(
        f"[{number}] {document.metadata['title']}, page {document.metadata['page']}: {document.page_content}"
        for number, document in enumerate(documents, start=1)
    )


def chain_over(collection: str) -> Runnable[str, str]:
    """Return the chain: a question in, an answer out; `stream`, `batch` and `ainvoke` come with it."""
    retriever = QuerymillRetriever(
        collection=collection,
        k=4,
        search_kwargs={"deadline": 10},
        url=os.environ.get("MILL_URL"),
        api_key=os.environ.get("MILL_KEY"),
    )
    inputs = {"passages": retriever | numbered, "question": RunnablePassthrough()}
    return inputs | PROMPT | QuotingModel() | StrOutputParser()


if __name__ == "__main__":
    collection, question = sys.argv[1:3]
    for part in chain_over(collection).stream(question):
        print(part, end="", flush=True)
    print()
