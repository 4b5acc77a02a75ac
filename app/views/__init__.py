"""The pages: a folder each, with the script that Streamlit runs from top to bottom (page.py) and its parts."""
