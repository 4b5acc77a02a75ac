"""The What if page: predicted step times after changes."""
