"""What clients of a run asked and saw, and whether that keeps the promises."""
