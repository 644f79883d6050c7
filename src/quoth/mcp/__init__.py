"""The MCP server: what agents may ask of one index. Only `server` and `transports` need the SDK."""
