"""The library: its catalog, its files in a folder or a bucket, its inbox, and the access of people and programs."""
