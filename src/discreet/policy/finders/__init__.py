"""The parts of the policy `pii`: each file finds secrets of a few kinds that are found alike, with a score.

A finder is a function that takes a `Page` (`page.py`) and yields secrets in any order, overlapping where it likes. The
score says how sure it is: from 0.9 a checksum or a shape that little else has, 0.7 a shape and its context, 0.5 a good
guess, below that a guess that only a careful reader wants.
"""
