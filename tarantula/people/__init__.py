"""Who uses an installation: accounts and their roles, sessions, tokens, and what each of them changed."""
