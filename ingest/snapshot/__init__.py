"""Load memory snapshots of PyTorch's allocator, as pickle or JSON, without executing anything in them."""
