"""What `conversations` needs of the world."""
