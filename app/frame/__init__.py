"""What stands around every page: the menu, the bar with the report, the title."""
