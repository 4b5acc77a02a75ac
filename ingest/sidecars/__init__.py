"""Read sidecars, the files beside a report."""
