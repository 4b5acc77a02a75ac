"""Memory: copies, and memory in use."""
