"""Admin: audit, spaces, logins, sharing links, and tokens for programs."""
