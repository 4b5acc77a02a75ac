"""CPU against GPU: the size from which the GPU is faster, and schedulers that choose between them."""
