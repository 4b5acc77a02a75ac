"""Traces of Perfetto, by its public messages: its own trace processor is a program that its package downloads."""
