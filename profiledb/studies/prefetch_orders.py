"""Orders of a worker to the process that prepares reports (prefetch.py), a line each."""

VERDICTS = "verdicts "
"""Prefix of the order to judge a report, before its id; the id alone is the order to prepare all."""
LISTS = ""
"""The order to prepare lists of reports."""
BUSY = "busy"
"""The answer to ``LISTS`` while another process of a team prepares lists; all others repeat the order."""
