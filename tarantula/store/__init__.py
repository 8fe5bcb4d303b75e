"""Where documents are kept: their bytes in WARC files, the rest in tables."""
