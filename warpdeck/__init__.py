"""The command ``warpdeck``: dashboard, worker and library under one name.

It stands above ``app`` and ``ingest``, which do not know each other. Modules import their dependencies when a command
runs, so that ``--help`` and completion need neither a database nor Streamlit.
"""
