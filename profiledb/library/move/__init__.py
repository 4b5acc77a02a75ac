"""A library on its way from one place to another: a folder is the form in which it travels.

``backup`` writes any library into a folder, ``move`` takes a folder into any library. What a catalog says is a file of
SQLite in between (snapshot.py), whatever it is kept in.
"""
