"""What every page is made of: theme, tables, numbers as text, charts, and the panels that several pages show."""
