"""Building blocks of every page: theme, tables, number formatting, charts, and panels shared by several pages."""
