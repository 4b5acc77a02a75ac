"""The page for questions in SQL."""
