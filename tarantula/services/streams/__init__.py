"""What people do with sources, their values, views and alerts."""
