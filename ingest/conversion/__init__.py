"""Conversion of one file by a bounded, sandboxed child process."""
