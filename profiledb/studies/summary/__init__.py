"""The answers of the pages as one text."""
