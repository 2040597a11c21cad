"""Which flow serves which request: the journey of a step, the sweep, and the whole `Ports`."""
