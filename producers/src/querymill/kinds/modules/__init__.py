"""`modules` on the command line."""
