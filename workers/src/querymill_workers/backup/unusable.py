"""Why a backup was not made or not restored."""


class Unusable(Exception):
    """Raised when a backup, its folder or a server cannot be used. The message names it, the rule and the remedy."""
