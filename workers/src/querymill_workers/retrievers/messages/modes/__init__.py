"""The three ways to search messages: by vectors, by both rankings (hybrid), and by text."""
