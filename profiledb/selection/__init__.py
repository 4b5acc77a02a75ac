"""What part of a report an analysis looks at."""
