"""What a report is: tables, files, the folder and the catalog that hold them."""
