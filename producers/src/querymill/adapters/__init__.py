"""Querymill as a retriever of other libraries, each in its own conventions.

    pip install ./shared './producers[langchain]'      from querymill.adapters.langchain import QuerymillRetriever
    pip install ./shared './producers[llama-index]'    from querymill.adapters.llama_index import QuerymillRetriever
    pip install ./shared './producers[haystack]'       from querymill.adapters.haystack import QuerymillRetriever

Each searches one collection for one kind, and takes any field of that kind's request as one of ``search_kwargs``.
"""
