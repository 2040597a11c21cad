"""The toolkit under every job: bells, one-step jobs, stages, follow-ups, heartbeats, faults, usage."""
