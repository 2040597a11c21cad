"""The retrievers of other libraries ask a gateway as they ask the board."""

import asyncio

from querymill.adapters import haystack, langchain, llama_index
from tests.fixtures.gateways import GatewayHere

QUESTION = "how many ships has the fleet?"
PAGE = "the fleet counts nine ships"


def test_each_library_asks_a_gateway(gateway_of_client: GatewayHere, filings: str) -> None:
    url = gateway_of_client.url
    chained = langchain.QuerymillRetriever(collection=filings, url=url)
    found = [
        [document.page_content for document in chained.invoke(QUESTION)],
        [document.page_content for document in asyncio.run(chained.ainvoke(QUESTION))],
        [each.node.get_content() for each in llama_index.QuerymillRetriever(filings, url=url).retrieve(QUESTION)],
        [each.content for each in haystack.QuerymillRetriever(collection=filings, url=url).run(QUESTION)["documents"]],
    ]
    assert [PAGE in texts for texts in found] == [True] * 4
