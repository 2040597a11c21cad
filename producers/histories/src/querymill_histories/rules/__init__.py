"""What the formats have in common: times, trees, tool calls, texts that nobody typed. Pure functions."""
