"""The one error a workload raises for what its user can mend."""


class WorkloadError(Exception):
    """One sentence that says what is wrong and what to do."""
