"""The Split page: matmul against the rest, by phase."""
