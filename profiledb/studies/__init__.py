"""Studies combine several answers: summaries, comparisons, crossovers, scaling, trends."""
