"""Roofline by time: the kernels of a Systems report under the roofs that ncu measured."""
