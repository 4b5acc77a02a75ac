"""Admin: the audit, spaces, logins, sharing links, tokens for programs."""
