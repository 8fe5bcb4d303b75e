"""The experiments of 2007: synthetic webs, the policies run on them, and the figures."""
