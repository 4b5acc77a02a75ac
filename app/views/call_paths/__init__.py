"""Call paths: sums of launches by the path that leads to them, of a profile without times."""
