"""Administration: the audit, spaces, sharing links, tokens for programs."""
