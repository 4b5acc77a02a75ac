"""Energy: joules by class, range and step, and power over time."""
