"""Asking a report: the header of an analysis, its run, stored answers, what a capture lacks, output."""
