"""`messages` on the command line."""
