"""Energy: joules of classes, ranges and steps, power over time."""
