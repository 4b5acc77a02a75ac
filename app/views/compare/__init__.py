"""Compare: two reports side by side, kernel by kernel."""
