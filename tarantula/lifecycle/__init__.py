"""The life of an item: scheduled, started, supervised, completed, reported. Every step works
from the database alone.
"""
