"""One collector at work on one item: the stages of a collection, without Scrapy."""
