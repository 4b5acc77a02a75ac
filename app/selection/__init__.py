"""The part of a report that all pages show: the settled selection, its URL parameters, and the selection bar."""
