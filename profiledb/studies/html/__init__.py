"""A report as one HTML file that opens without a server and without a network."""
