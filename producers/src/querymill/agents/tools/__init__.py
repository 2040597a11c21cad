"""The five tools of the MCP server: what each takes, and the text that it returns."""
