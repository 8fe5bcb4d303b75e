"""WARC files and database rows: everything that is stored during a crawl, and how it is read back."""
