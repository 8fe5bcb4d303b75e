"""The experiments of 2007: webs that do not exist, and what policies make of them."""
