"""The summary: the answers of the pages as one text."""
