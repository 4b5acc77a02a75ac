"""The part of a report that all pages show: what is settled, its address, the bar that chooses it."""
