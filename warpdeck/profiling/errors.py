"""The error of a recording that its user can fix."""


class ProfilingError(Exception):
    """Its message tells the problem and the remedy in one sentence."""
