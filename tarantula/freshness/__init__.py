"""Change-rate and freshness estimates of a publication, and the visit plans made from them."""
