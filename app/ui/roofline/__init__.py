"""The chart of a roofline, which several pages draw: points, roofs, and words that cover neither."""
