"""Sources and alerts: described, pointed at, put right."""
