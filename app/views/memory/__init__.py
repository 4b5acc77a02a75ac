"""The Memory page: copies, and memory in use."""
