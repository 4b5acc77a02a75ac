"""The command ``warpdeck``: the dashboard, the worker and the library under one name.

It stands above ``app`` and ``ingest``, which do not know each other. A module here imports what it runs when it runs
it: ``--help`` and completion answer without a database and without Streamlit.
"""
