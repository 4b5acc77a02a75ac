"""Measurements: a generator of synthetic exports, and Warpdeck beside what a user would run instead."""
