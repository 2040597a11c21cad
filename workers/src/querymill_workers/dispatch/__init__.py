"""Runs the steps of every kind of job: which flow serves a request, the sweeper, and the whole `Ports`."""
