"""From traces of the PyTorch profiler (Kineto), and other Chrome traces, to the tables of a report."""
