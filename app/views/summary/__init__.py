"""Overview: what was captured and what dominates."""
