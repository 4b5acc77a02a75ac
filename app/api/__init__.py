"""The API for programs: the operations of the registry over HTTP, and as tools of an MCP server (docs/api.md)."""
