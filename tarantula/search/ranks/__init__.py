"""Link analysis: the link graph, PageRank, anchor texts."""
