"""The Library page: all reports, files being imported, and failed imports with the reason."""
