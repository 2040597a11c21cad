"""Pure rules of `messages`."""
