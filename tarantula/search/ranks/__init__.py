"""What links make of documents: PageRank, and the words of those who lead to them."""
