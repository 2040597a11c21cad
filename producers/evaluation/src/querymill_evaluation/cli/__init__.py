"""The commands that measure: ``querymill eval``, ``calibrate``, ``calibrate-files`` and ``bench``."""
