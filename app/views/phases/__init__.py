"""The Phases page: matmul against the rest, by phase."""
