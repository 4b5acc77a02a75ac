"""Learn from measured tasks how long a task takes on CPU and GPU, and how far the prediction can be trusted."""
