"""The error of workloads that their user can fix."""


class WorkloadError(Exception):
    """Its message tells the problem and the remedy in one sentence."""
