"""Real servers from wheels, supervised under one data folder."""
