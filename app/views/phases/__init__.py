"""Split: matrix products against the rest, training against inference."""
