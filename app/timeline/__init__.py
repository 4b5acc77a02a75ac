"""The timeline: a canvas in the browser (``static``), its component, and the routes that serve its data."""
