"""One report: its tables, its database file, its manifest and the files beside it."""
