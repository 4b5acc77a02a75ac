"""Query reports: analysis headers, execution, answer caches, missing captures, and output."""
