"""``python -m querymill``: the command line."""

from querymill.cli.main import main

main()
