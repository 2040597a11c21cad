"""What agents and chat programs touch: ids of places, hits of every kind in one form, answers, the MCP server."""
