"""File formats, one file each: how rows come out of a file and go back into one.

A format knows rows (plain dictionaries) and nothing of records; `rows.py` turns the one into the other. To add a
format, write a `Format` (see `contract.py`) and register it: the reader, the writer and the contract test know it then.
"""
