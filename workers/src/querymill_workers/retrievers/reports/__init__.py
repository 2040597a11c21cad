"""Pages of reports, found by what they mean."""
