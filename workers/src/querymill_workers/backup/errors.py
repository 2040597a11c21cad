"""Why a backup was not made or not restored."""


class BackupError(Exception):
    """Raised when a backup is not made or not restored. The message names the reason, the rule and the remedy."""
