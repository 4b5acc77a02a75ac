"""The Operators page: PyTorch operators by time, shape, module and source line, and their roofline."""
