"""Tests of the parts that replace Scrapy's own."""
