"""The Roofline page of a Systems report: its kernels under the roofs that ncu measured."""
