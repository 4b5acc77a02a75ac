"""What programs may ask: one registry of operations, which the HTTP API and the MCP server offer (docs/api.md)."""
