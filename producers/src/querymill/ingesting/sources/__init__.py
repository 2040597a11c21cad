"""What is at a path becomes documents, for the command line and for clients: JSON lines, documents, histories."""
