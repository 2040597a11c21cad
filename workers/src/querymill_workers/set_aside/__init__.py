"""Texts that a provider refused: set aside with the reason, so that the rest goes on."""
