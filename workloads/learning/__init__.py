"""Learns from measured tasks how long a task takes on CPU and GPU, and says how far that can be trusted."""
