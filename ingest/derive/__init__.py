"""Derive data from the rows of a report, whichever tool wrote them.

A reader calls ``stage``, inserts its rows into the tables ``staged_*`` (staging.py) and the other tables of the report,
and calls ``complete``. No module here knows the tool that wrote the file.
"""

from ingest.derive.completion import complete
from ingest.derive.staging import stage

__all__ = ["complete", "stage"]
