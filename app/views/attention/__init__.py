"""Attention: its parts, sizes, and how its time grows with the tokens."""
