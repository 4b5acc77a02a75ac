"""Memory snapshots of PyTorch's allocator, as pickle or as JSON, into our tables: nothing in them is ever executed."""
