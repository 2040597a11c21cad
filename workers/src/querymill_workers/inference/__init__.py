"""Adapters to embedding and chat models. Every call outside goes through here."""
