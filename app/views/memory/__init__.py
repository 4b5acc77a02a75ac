"""Memory and API: copies, memory in use, calls of the host, why the GPU is idle."""
