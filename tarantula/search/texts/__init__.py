"""Text of documents: extraction, words and stems, similarity."""
