"""Sources, alerts and views, as people see to them."""
