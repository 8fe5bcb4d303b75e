"""Backup and restore of an installation: the database and the files of its home."""
