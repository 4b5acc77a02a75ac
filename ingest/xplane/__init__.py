"""Profiles of XLA."""
