"""The page Timeline."""
