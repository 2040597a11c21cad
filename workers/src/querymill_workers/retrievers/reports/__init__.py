"""The `reports` retriever: finds pages and passages of reports by meaning."""
