"""The workers. Start reading at ``dispatch/run_step.py``, then at a retriever in ``retrievers/``."""
