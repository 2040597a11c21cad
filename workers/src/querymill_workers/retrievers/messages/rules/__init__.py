"""The pure rules of `messages`."""
