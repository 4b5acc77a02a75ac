"""Read files of Nsight Compute."""
