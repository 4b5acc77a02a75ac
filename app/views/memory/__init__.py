"""Memory & copies: copies, and memory in use."""
