"""From the tables of an nsys export, whatever its version and form, to the tables of a report."""
