"""The routes of the gateway, and what they share."""
