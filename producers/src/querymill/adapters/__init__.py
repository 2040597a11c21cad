"""Querymill as a retriever of other libraries, each in its own conventions.

    extra          from a checkout: pip install ./shared ./producers/histories ./producers/reading './producers[EXTRA]'
    langchain      from querymill.adapters.langchain import QuerymillRetriever
    llama-index    from querymill.adapters.llama_index import QuerymillRetriever
    haystack       from querymill.adapters.haystack import QuerymillRetriever

Each searches one collection for one kind, or with ``kind="all"`` every kind in one or in all collections. It takes any
field of that request as one of ``search_kwargs``.
"""
