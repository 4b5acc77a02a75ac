"""The door for programs: the operations of the registry by HTTP, and as tools of an MCP server (docs/api.md)."""
