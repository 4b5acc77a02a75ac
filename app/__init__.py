"""The dashboard: pages and their server. Everything that is computed comes from profiledb."""
