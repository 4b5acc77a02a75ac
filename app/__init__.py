"""The dashboard: pages only; everything that is computed comes from profiledb."""
