"""Move libraries between places; the common form is a folder.

``backup`` writes any library into a folder, ``move`` copies a folder into any library. In between, the catalog is a
SQLite file (snapshot.py).
"""
