"""A library in a bucket: objects there, copies here of those in use, and rows of the catalog that say which count."""
