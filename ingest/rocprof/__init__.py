"""Captures of AMD's rocprofv3: its JSON and its database."""
