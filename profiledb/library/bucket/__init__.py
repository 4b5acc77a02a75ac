"""A library's files in a bucket: objects there, copies here, and rows of the catalog that say which object counts."""
