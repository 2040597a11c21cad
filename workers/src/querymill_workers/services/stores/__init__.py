"""Where vectors of single texts are stored."""
