"""Compare two reports: match their kernels, and tell changes from scatter."""
