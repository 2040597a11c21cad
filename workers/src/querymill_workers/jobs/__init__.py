"""The toolkit that every kind of job uses: flows, notes, deadlines, verdicts, stages, follow-ups, heartbeats, bells."""
