"""Monitoring for operators: counters of a process, their export to Prometheus, and the log."""
