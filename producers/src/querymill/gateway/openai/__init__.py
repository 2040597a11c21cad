"""Chat completions, as clients of OpenAI's API ask for them."""
