"""Load traces of the PyTorch profiler (Kineto), and other Chrome traces, into the tables of a report."""
