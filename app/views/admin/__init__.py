"""Administration: the audit, spaces, tokens for programs."""
