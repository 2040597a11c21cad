"""Contracts, the job board, queues and settings: what producers and workers agree on."""
