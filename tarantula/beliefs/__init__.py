"""What is believed of a publication: what collections saw of its pages, what to visit next, and how fresh it is."""
