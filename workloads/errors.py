"""The error of workloads that their user can fix."""

from warpdeck.profiling.errors import ProfilingError


class WorkloadError(ProfilingError):
    """Its message tells the problem and the remedy in one sentence."""
