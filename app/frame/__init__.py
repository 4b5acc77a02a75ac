"""The frame of every page: the menu, and the bar with the report switcher, links and the comparison."""
