"""What is shared of reading text: words, stems, BM25, rank fusion, tokens, languages."""
