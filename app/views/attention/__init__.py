"""Attention: its parts, its sizes, and how its time grows with the number of tokens."""
