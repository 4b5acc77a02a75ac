"""Operations for programs: one registry, from which the HTTP API and the MCP server are made (docs/api.md)."""
