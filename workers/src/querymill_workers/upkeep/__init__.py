"""What every worker does beside its jobs: heartbeats, and sweeping up after the dead."""
