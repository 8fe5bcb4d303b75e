"""Scrapy spiders: one for publications, one for streams."""
