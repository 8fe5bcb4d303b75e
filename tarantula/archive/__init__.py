"""What is made of an item when it is collected: a mirror, exports, indicators, decisions, differences."""
