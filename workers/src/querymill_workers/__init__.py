"""The workers. Start reading at ``dispatch/journey.py``, then at a retriever in ``retrievers/``."""
