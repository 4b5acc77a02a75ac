"""What is worked out from the rows of a report, whichever tool they came from."""
