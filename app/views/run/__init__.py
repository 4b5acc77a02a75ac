"""The page Run."""
