"""`conversations` on the command line."""
