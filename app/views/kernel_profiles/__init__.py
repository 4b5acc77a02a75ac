"""The Kernel profiles page: Nsight Compute's measurements of each launch."""
