"""Findings: what slows a program down, how much time each problem costs, and how to fix it."""
