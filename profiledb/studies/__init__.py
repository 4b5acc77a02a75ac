"""What takes several answers: comparisons, crossings, scaling, summaries."""
