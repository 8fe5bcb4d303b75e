"""From a reading to stored values: typing, outliers, events, doubtful texts, failures and type changes."""
