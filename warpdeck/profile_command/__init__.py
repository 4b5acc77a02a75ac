"""``warpdeck profile -- PROGRAM``: record a program, take the report in, and say what holds the program back."""
