"""Crossover: the problem size above which the GPU beats the CPU."""
