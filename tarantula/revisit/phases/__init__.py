"""The three phases of the revisit policy of 2007: how often, when, and by which crawler."""
