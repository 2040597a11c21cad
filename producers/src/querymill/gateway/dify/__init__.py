"""Dify's external knowledge API: Dify sends a question, and gets the texts that are nearest to it."""
