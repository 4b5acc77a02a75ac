"""Crossover: from which size on the GPU beats the CPU."""
