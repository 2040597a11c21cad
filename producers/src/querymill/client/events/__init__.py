"""The events of jobs: one reader for all who wait in a process."""
