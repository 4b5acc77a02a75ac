"""The part of a report that an analysis looks at."""
