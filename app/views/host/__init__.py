"""The page "Host": what the CPU did."""
