"""Load the tables of an nsys export, whatever its version and form, into the tables of a report."""
