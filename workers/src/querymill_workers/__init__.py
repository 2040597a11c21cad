"""The workers. Start reading at ``flows/``."""
