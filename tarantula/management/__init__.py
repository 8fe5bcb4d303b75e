"""What people do: checked against their role, done, and written down, in one transaction.

The API and the pages stand on these functions; nothing here knows of either.
"""
