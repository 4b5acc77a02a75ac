"""The Scaling page: the same program on different numbers of GPUs."""
