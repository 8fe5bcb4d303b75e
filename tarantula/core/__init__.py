"""What every other package stands on: configuration, database, errors, states, URLs, messages, times."""
