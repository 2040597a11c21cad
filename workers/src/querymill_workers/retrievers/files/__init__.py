"""Files of a code base, found in rounds."""
