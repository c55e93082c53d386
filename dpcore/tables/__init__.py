"""Reading and writing of tables of private texts."""
