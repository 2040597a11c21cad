"""The stores of `conversations`, one file for each technology."""
