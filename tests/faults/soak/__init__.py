"""Mixed work with faults for an hour: what a fleet holds must not grow."""
