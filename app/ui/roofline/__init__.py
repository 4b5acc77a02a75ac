"""The roofline chart that several pages draw: points, roofs, and labels that cover neither."""
