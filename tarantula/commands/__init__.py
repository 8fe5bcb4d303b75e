"""Scrapy commands that know publications."""
