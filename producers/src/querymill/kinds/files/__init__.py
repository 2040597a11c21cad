"""`files` on the command line."""
