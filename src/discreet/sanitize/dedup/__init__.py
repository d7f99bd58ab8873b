"""Deduplication: text that stands in a corpus more than once, found and taken out. See `dedup.run` and `dedup.near`."""
