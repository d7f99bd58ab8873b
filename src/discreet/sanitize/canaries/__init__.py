"""Canaries: made-up secrets put into a corpus, to measure afterwards what a model has learned of them."""
