"""Operators of a PyTorch trace: times, shapes, modules, source lines, roofline."""
