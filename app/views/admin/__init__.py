"""Administration: the audit, spaces, logins, sharing links, tokens for programs."""
