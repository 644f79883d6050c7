"""Who may use the service, how often, and what was written: shared by HTTP, MCP and the command line."""
