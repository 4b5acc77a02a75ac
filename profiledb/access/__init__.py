"""How people and programs reach a library: the command line, HTTP operations and MCP tools."""
