"""`reports` on the command line."""
