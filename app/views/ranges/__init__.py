"""The Ranges page: the tree of ranges, one range in detail, and steps."""
