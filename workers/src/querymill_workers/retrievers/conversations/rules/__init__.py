"""Pure rules of `conversations`."""
