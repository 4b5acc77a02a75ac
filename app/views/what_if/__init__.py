"""What if: predictions of changes."""
