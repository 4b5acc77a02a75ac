"""The Roofline page of a Compute report."""
