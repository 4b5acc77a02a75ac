"""One conversion: a child of its own, bounded and sealed, and what it answers."""
