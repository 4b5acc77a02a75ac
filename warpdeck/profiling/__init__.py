"""Record a program: profilers' options, launchers of ranks, power log, and the environment that a report may show.

It imports nothing else of Warpdeck, so that it runs on a training machine without database and dashboard.
"""
