"""What changes over the reports of a series."""
