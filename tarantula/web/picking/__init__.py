"""Pages of strangers, shown to be pointed at: sealed, on the other origin, with one script, which is ours."""
