"""Pure rules about text that all retrievers share: words, stems, BM25, rank fusion, tokens, languages."""
