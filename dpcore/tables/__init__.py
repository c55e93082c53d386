"""How a table of private texts is read and written."""
