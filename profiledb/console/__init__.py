"""Questions in SQL that anybody may ask of a report: read only, in a process of their own, within limits."""
