"""Administration: the audit, tokens for programs."""
