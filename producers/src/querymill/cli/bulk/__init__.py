"""Many questions, or many texts, as one run that can be resumed."""
