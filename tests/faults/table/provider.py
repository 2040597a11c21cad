"""Lines about provider."""
