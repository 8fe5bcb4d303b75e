"""What a browser makes of pages."""
