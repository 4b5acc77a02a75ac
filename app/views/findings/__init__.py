"""The page Findings: what holds a report back, what it costs and what to do."""
