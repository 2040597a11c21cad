"""Every reader of foreign bytes, fuzzed by coverage: ``python -m tests.fuzz``."""
