"""Access keys and rate limits, shared by HTTP, MCP and the command line."""
