"""Files beside a report: reading them, and bringing them to the library."""
