"""Work on a collected item: mirror, export, comparison, quality and replay."""
