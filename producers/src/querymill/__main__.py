"""``python -m querymill``: the command line."""

from querymill_command import main

main()
