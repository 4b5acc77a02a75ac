"""Profiles of Triton's proton: sums of launches by call path, without times."""
