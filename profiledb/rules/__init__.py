"""Rules of the settings: which kernel is of which class, which range is which phase."""
