"""Items that keep the last one fresh: what is carried over, until when, and which visits are planned."""
