"""Management pages, one module for each subject."""
