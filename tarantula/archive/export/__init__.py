"""Exports of an item as WACZ or BagIt."""
