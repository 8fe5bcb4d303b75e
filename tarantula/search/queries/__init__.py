"""What somebody typed: understood, asked of an index, and spelt as it may have been meant."""
