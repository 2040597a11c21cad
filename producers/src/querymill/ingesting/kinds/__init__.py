"""How lines of each kind become documents."""
