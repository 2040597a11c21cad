"""Texts that a provider refused: set aside with the reason, so that they block nothing else."""
