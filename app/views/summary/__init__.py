"""The Overview page: what was captured, and what dominates."""
