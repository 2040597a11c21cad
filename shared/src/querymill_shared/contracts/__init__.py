"""Requests, results, events and errors: the wire, one module per kind of job."""
